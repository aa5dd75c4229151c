/** One terminal screen (xterm), loaded on first use because the library is large. */
import "@xterm/xterm/css/xterm.css";
import "@/text/text.css";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { useEffect, useRef, useState } from "react";
import { copy } from "@/ui/copy";
import { LinkFinder, openLink } from "./links";
import { Pty, type PtyState } from "./pty";
import { terminalTheme } from "./theme";

/** OSC sequences for titles, the clipboard and notifications are ignored. */
const IGNORED = [0, 1, 2, 9, 52, 99, 777];

interface Props {
  workerId: string;
  label: string;
  active: boolean;
  onState: (state: PtyState, text: string) => void;
}

export function Screen({ workerId, label, active, onState }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const [terminal, setTerminal] = useState<Terminal | null>(null);
  const latestOnState = useRef(onState);
  latestOnState.current = onState;
  useEffect(() => {
    const element = container.current;
    if (!element) return;
    const made = makeTerminal(element, label);
    const pty = connected(made, workerId, (state, text) => latestOnState.current(state, text));
    const stop = keepFitting(made, element, pty);
    setTerminal(made);
    return () => {
      stop();
      pty.close();
      made.dispose();
      setTerminal(null);
    };
  }, [workerId, label]);
  useEffect(() => {
    if (active) terminal?.focus();
  }, [active, terminal]);
  return <div ref={container} className="h-full min-h-0 w-full overflow-hidden bg-surface-0 py-1 pl-2" />;
}

function makeTerminal(element: HTMLElement, label: string): Terminal {
  const style = getComputedStyle(document.documentElement);
  const terminal = new Terminal({
    fontFamily: style.getPropertyValue("--mono").trim() || "monospace",
    fontSize: 12.5,
    lineHeight: 1.25,
    scrollback: 5000,
    cursorBlink: !window.matchMedia("(prefers-reduced-motion: reduce)").matches,
    theme: terminalTheme(),
    linkHandler: {
      activate: (event, address) => void openLink(event, address),
      allowNonHttpProtocols: false,
    },
    macOptionIsMeta: true,
  });
  for (const code of IGNORED) terminal.parser.registerOscHandler(code, () => true);
  terminal.registerLinkProvider(new LinkFinder(terminal));
  terminal.attachCustomKeyEventHandler((event) => key(event, terminal));
  terminal.open(element);
  terminal.textarea?.setAttribute("aria-label", `${label}. Press Shift+Escape to leave.`);
  // The page's shortcuts are off while the terminal has the focus.
  element.addEventListener("keydown", (event) => event.stopPropagation());
  return terminal;
}

/** False: the key is not sent to the terminal. */
function key(event: KeyboardEvent, terminal: Terminal): boolean {
  if (event.type !== "keydown") return true;
  if (event.key === "Escape" && event.shiftKey) {
    document.querySelector<HTMLElement>("[data-terminal-tab][aria-selected=true]")?.focus();
    return false;
  }
  const letter = event.key.toLowerCase();
  const copies = letter === "c" && ((event.ctrlKey && event.shiftKey) || event.metaKey);
  if (copies && terminal.hasSelection()) {
    event.preventDefault();
    void copy(terminal.getSelection());
    return false;
  }
  // The browser handles paste.
  return !(letter === "v" && ((event.ctrlKey && event.shiftKey) || event.metaKey));
}

function connected(
  terminal: Terminal,
  workerId: string,
  state: (state: PtyState, text: string) => void,
): Pty {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const url = `${scheme}://${location.host}/api/v1/workers/${encodeURIComponent(workerId)}/pty`;
  const pty = new Pty(
    url,
    {
      write: (bytes, shown) => terminal.write(bytes, shown),
      clear: () => terminal.reset(),
      onState: (now, text) => {
        terminal.options.disableStdin = now === "ended" || now === "refused";
        if (now === "ended") terminal.options.cursorBlink = false;
        state(now, text);
      },
    },
    {
      open: (address) => new WebSocket(address),
      later: (act, milliseconds) => window.setTimeout(act, milliseconds),
      cancel: (timer) => window.clearTimeout(timer),
    },
  );
  terminal.onData((text) => pty.type(text));
  terminal.onBinary((text) => pty.typeBytes(text));
  terminal.onResize(({ cols, rows }) => pty.resize(cols, rows));
  pty.connect();
  return pty;
}

function keepFitting(terminal: Terminal, element: HTMLElement, pty: Pty): () => void {
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  let due = 0;
  const now = () => {
    due = 0;
    if (element.clientWidth < 40 || element.clientHeight < 20) return; // hidden
    fit.fit();
    pty.resize(terminal.cols, terminal.rows);
  };
  const observer = new ResizeObserver(() => {
    if (!due) due = requestAnimationFrame(now);
  });
  observer.observe(element);
  const theme = new MutationObserver(() => {
    terminal.options.theme = terminalTheme();
  });
  theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  now();
  return () => {
    cancelAnimationFrame(due);
    observer.disconnect();
    theme.disconnect();
  };
}
