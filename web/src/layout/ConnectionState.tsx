/** Connection status, with an action where one helps. */
import { useRef } from "react";
import { useApp } from "@/state/app";
import { socket } from "@/stream/connection";
import { useTicking } from "./RelativeTime";

export function ConnectionState() {
  const connection = useApp((state) => state.connection);
  const outdated = useApp((state) => state.outdated);
  if (outdated) {
    return (
      <State shape="◆" colour="text-needs" text="The server was updated.">
        <ActionLink text="Reload" onClick={() => location.reload()} />
      </State>
    );
  }
  switch (connection) {
    case "live":
      return <State shape="●" colour="text-done" text="live" />;
    case "offline":
      return (
        <State shape="◌" colour="text-needs" text="This device is offline.">
          <ActionLink text="Retry now" onClick={() => socket.wake()} />
        </State>
      );
    case "waiting":
      return <Waiting />;
    case "refused":
      return <State shape="✗" colour="text-failed" text="Signed out." />;
    default:
      return <State shape="◌" colour="text-ink-2" text="connecting" />;
  }
}

function Waiting() {
  const nextTry = useApp((state) => state.nextTry);
  const seconds = useTicking(() => Math.max(0, Math.ceil((nextTry - performance.now()) / 1000)));
  return (
    <State shape="◌" colour="text-needs" text="Can't reach the server." quiet={`Retrying in ${seconds} s.`}>
      <ActionLink text="Retry now" onClick={() => socket.wake()} />
    </State>
  );
}

/** Connection status without a sidebar: shown only when there is a problem. */
export function ConnectionStrip() {
  const connection = useApp((state) => state.connection);
  const outdated = useApp((state) => state.outdated);
  const troubled = useRef(false);
  if (connection === "live") troubled.current = false;
  else if (connection !== "connecting") troubled.current = true;
  if (!troubled.current && !outdated) return null;
  return (
    <div className="hairline-t shrink-0 bg-needs-soft px-3 py-1.5">
      <ConnectionState />
    </div>
  );
}

interface StateProps {
  shape: string;
  colour: string;
  text: string;
  /** Not announced by screen readers, because it changes every second. */
  quiet?: string;
  children?: React.ReactNode;
}

function State({ shape, colour, text, quiet = "", children }: StateProps) {
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-x-1 text-small">
      <span role="status" className={`inline-flex items-center gap-1 ${colour}`}>
        <span aria-hidden="true" className="w-3.5 text-center">
          {shape}
        </span>
        <span>{text}</span>
      </span>
      {quiet && <span className="tabular text-ink-2">{quiet}</span>}
      {children}
    </div>
  );
}

function ActionLink({ text, onClick }: { text: string; onClick: () => void }) {
  return (
    <button type="button" onClick={onClick} className="target text-accent underline underline-offset-2">
      {text}
    </button>
  );
}
