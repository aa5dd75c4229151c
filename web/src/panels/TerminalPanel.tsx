/** Terminal panel: one tab per terminal. They keep running when the page is closed. */
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { api, unwrap } from "@/api/client";
import type { SessionView, WorkerView } from "@/api/types";
import { showError } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { useInventory } from "@/state/inventory";
import { Button, IconButton } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { Icon } from "@/ui/Icon";
import type { PtyState } from "./terminal/pty";

const Screen = lazy(async () => ({ default: (await import("./terminal/Screen")).Screen }));

interface TerminalStatus {
  state: PtyState;
  text: string;
}

export function TerminalPanel({ session }: { session: SessionView }) {
  const allowed = useApp((state) => hasScope(state.me, "terminal"));
  if (!allowed)
    return (
      <Empty
        title="Terminals are not allowed on this device"
        action={
          <Link to="/settings/$part" params={{ part: "devices" }}>
            Go to devices
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
  const [statuses, setStatuses] = useState<Record<string, TerminalStatus>>({});
  const [busy, setBusy] = useState(false);
  const active = shown.find((each) => each === chosen) ?? shown.at(-1) ?? "";
  const external = useInventory(session.id)?.capabilities.terminal_resume === true;
  const open = async (resume: boolean) => {
    setBusy(true);
    try {
      const params = { path: { id: session.id } };
      const worker = await unwrap(api.POST("/sessions/{id}/terminals", { params, body: { resume } }));
      add(worker.id);
      setChosen(worker.id);
    } catch (error) {
      showError(error);
    }
    setBusy(false);
  };
  const close = async (id: string) => {
    leave(id);
    const ended = statuses[id]?.state === "ended" || statuses[id]?.state === "refused";
    if (ended) return;
    try {
      await api.DELETE("/terminals/{worker_id}", { params: { path: { worker_id: id } } });
    } catch (error) {
      showError(error);
    }
  };
  if (shown.length === 0)
    return <NoTerminals busy={busy} external={external} onOpen={(resume) => void open(resume)} />;
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="hairline-b flex h-9 shrink-0 items-center gap-1 px-2 max-md:h-12">
        <div role="tablist" aria-label="Terminals" className="flex min-w-0 flex-1 gap-0.5 overflow-x-auto">
          {shown.map((id, index) => (
            <TerminalTab
              key={id}
              number={index + 1}
              ended={statuses[id]?.state === "ended"}
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
        <IconButton label="New terminal" disabled={busy} onClick={() => void open(false)}>
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
                  onState={(state, text) => setStatuses((before) => ({ ...before, [id]: { state, text } }))}
                />
              </Suspense>
            </div>
            <StateLine status={statuses[id]} onClose={() => void close(id)} />
          </div>
        </div>
      ))}
    </div>
  );
}

function NoTerminals({
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
      title="No terminals"
      action={
        <div className="flex flex-wrap justify-center gap-2">
          <Button look="primary" disabled={busy} onClick={() => onOpen(false)}>
            Open terminal
          </Button>
          {external && (
            <Button disabled={busy} onClick={() => onOpen(true)}>
              Resume session in terminal
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

function StateLine({ status: now, onClose }: { status: TerminalStatus | undefined; onClose: () => void }) {
  if (!now?.text) return null;
  return (
    <div role="status" className="hairline-t flex min-h-9 shrink-0 items-center gap-2 px-3 text-ink-2">
      <span className="flex-1">{now.text}</span>
      {(now.state === "ended" || now.state === "refused") && <Button onClick={onClose}>Close</Button>}
    </div>
  );
}

const LIVE: readonly WorkerView["state"][] = ["starting", "running"];

/** The session's terminals, wherever they were opened, and those that ended while this page was open. */
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
