/** Terminals in the session's directory, one tab each. They go on when the page is closed. */
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { api, said } from "@/api/client";
import type { SessionView, WorkerView } from "@/api/types";
import { useSurroundings } from "@/composer/surroundings";
import { complain } from "@/state/actions";
import { may, useApp } from "@/state/app";
import { Button, IconButton } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { Icon } from "@/ui/Icon";
import type { PtyState } from "./terminal/pty";

const Screen = lazy(async () => ({ default: (await import("./terminal/Screen")).Screen }));

interface Said {
  state: PtyState;
  words: string;
}

export function TerminalPanel({ session }: { session: SessionView }) {
  const allowed = useApp((state) => may(state.me, "terminal"));
  if (!allowed)
    return (
      <Empty
        title="This device may not use terminals"
        action={
          <Link to="/settings/$part" params={{ part: "devices" }}>
            To the devices
          </Link>
        }
      >
        A terminal can do anything you can do on that machine, so it needs the scope “terminal”. On a device
        that may manage others, make a code with that scope.
      </Empty>
    );
  return <Terminals session={session} />;
}

function Terminals({ session }: { session: SessionView }) {
  const { shown, add, leave } = useTerminals(session);
  const [chosen, setChosen] = useState("");
  const [saidOf, setSaid] = useState<Record<string, Said>>({});
  const [busy, setBusy] = useState(false);
  const active = shown.find((each) => each === chosen) ?? shown.at(-1) ?? "";
  const external = useSurroundings(session.id)?.capabilities.terminal_resume === true;
  const open = async (resume: boolean) => {
    setBusy(true);
    try {
      const params = { path: { id: session.id } };
      const worker = await said(api.POST("/sessions/{id}/terminals", { params, body: { resume } }));
      add(worker.id);
      setChosen(worker.id);
    } catch (error) {
      complain(error);
    }
    setBusy(false);
  };
  const close = async (id: string) => {
    leave(id);
    const ended = saidOf[id]?.state === "ended" || saidOf[id]?.state === "refused";
    if (ended) return;
    try {
      await api.DELETE("/terminals/{worker_id}", { params: { path: { worker_id: id } } });
    } catch (error) {
      complain(error);
    }
  };
  if (shown.length === 0)
    return <None busy={busy} external={external} onOpen={(resume) => void open(resume)} />;
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="hairline-b flex h-9 shrink-0 items-center gap-1 px-2 max-md:h-12">
        <div role="tablist" aria-label="Terminals" className="flex min-w-0 flex-1 gap-0.5 overflow-x-auto">
          {shown.map((id, index) => (
            <TerminalTab
              key={id}
              number={index + 1}
              ended={saidOf[id]?.state === "ended"}
              selected={id === active}
              onSelect={() => setChosen(id)}
              onClose={() => void close(id)}
            />
          ))}
        </div>
        {external && (
          <Button look="quiet" disabled={busy} onClick={() => void open(true)}>
            Resume here
          </Button>
        )}
        <IconButton label="Open another terminal" disabled={busy} onClick={() => void open(false)}>
          <Icon name="plus" size={14} />
        </IconButton>
      </div>
      {shown.map((id, index) => (
        <div key={id} role="tabpanel" hidden={id !== active} className="min-h-0 flex-1 [&[hidden]]:hidden">
          <div className="flex h-full min-h-0 flex-col">
            <div className="min-h-0 flex-1">
              <Suspense fallback={null}>
                <Screen
                  workerId={id}
                  label={`Terminal ${index + 1}`}
                  active={id === chosen}
                  onState={(state, words) => setSaid((before) => ({ ...before, [id]: { state, words } }))}
                />
              </Suspense>
            </div>
            <StateLine said={saidOf[id]} onClose={() => void close(id)} />
          </div>
        </div>
      ))}
    </div>
  );
}

function None({
  busy,
  external,
  onOpen,
}: {
  busy: boolean;
  external: boolean;
  onOpen: (resume: boolean) => void;
}) {
  return (
    <Empty
      title="No terminal is open"
      action={
        <div className="flex flex-wrap justify-center gap-2">
          <Button look="primary" disabled={busy} onClick={() => onOpen(false)}>
            Open a terminal
          </Button>
          {external && (
            <Button disabled={busy} onClick={() => onOpen(true)}>
              Open this session in a terminal
            </Button>
          )}
        </div>
      }
    >
      A shell in the session's directory, as you, without the server's keys. It goes on when this page is
      closed and ends when you close it here.
    </Empty>
  );
}

interface TabProps {
  number: number;
  ended: boolean;
  selected: boolean;
  onSelect: () => void;
  onClose: () => void;
}

function TerminalTab({ number, ended, selected, onSelect, onClose }: TabProps) {
  return (
    <span className={`flex shrink-0 items-center rounded-box ${selected ? "bg-surface-2" : ""}`}>
      <button
        type="button"
        role="tab"
        data-terminal-tab
        aria-selected={selected}
        onClick={onSelect}
        onKeyDown={(event) => event.key === "Delete" && onClose()}
        className={`target px-2 py-0.5 ${selected ? "" : "text-ink-2"} ${ended ? "line-through" : ""}`}
      >
        Terminal {number}
      </button>
      <IconButton
        label={`Close terminal ${number}`}
        className="h-6 w-6"
        aria-hidden="true"
        tabIndex={-1}
        onClick={onClose}
      >
        <Icon name="close" size={12} />
      </IconButton>
    </span>
  );
}

function StateLine({ said: now, onClose }: { said: Said | undefined; onClose: () => void }) {
  if (!now?.words) return null;
  return (
    <div role="status" className="hairline-t flex min-h-9 shrink-0 items-center gap-2 px-3 text-ink-2">
      <span className="flex-1">{now.words}</span>
      {(now.state === "ended" || now.state === "refused") && <Button onClick={onClose}>Close</Button>}
    </div>
  );
}

const LIVE: readonly WorkerView["state"][] = ["starting", "running"];

/** Terminals that live in the session, wherever they were opened, and those that ended while one looked on. */
function useTerminals(session: SessionView) {
  const [seen, setSeen] = useState<string[]>([]);
  const [left, setLeft] = useState<string[]>([]);
  const live = session.workers
    .filter((worker) => worker.kind === "terminal" && LIVE.includes(worker.state))
    .map((worker) => worker.id);
  const fresh = live.filter((id) => !seen.includes(id));
  if (fresh.length > 0) setSeen([...seen, ...fresh]);
  return {
    shown: seen.filter((id) => !left.includes(id)),
    add: (id: string) => setSeen((before) => (before.includes(id) ? before : [...before, id])),
    leave: (id: string) => setLeft((before) => [...before, id]),
  };
}
