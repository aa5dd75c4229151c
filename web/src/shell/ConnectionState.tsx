/** How the connection to the server stands, in words, and what can be done about it. */
import { useRef } from "react";
import { useApp } from "@/state/app";
import { socket } from "@/stream/live";
import { useTicking } from "./Since";

export function ConnectionState() {
  const connection = useApp((state) => state.connection);
  const outdated = useApp((state) => state.outdated);
  if (outdated) {
    return (
      <State shape="◆" colour="text-needs" words="The server has another version.">
        <Act words="Reload" onClick={() => location.reload()} />
      </State>
    );
  }
  switch (connection) {
    case "live":
      return <State shape="●" colour="text-done" words="live" />;
    case "offline":
      return (
        <State shape="◌" colour="text-needs" words="This device is offline.">
          <Act words="Retry now" onClick={() => socket.wake()} />
        </State>
      );
    case "waiting":
      return <Waiting />;
    case "refused":
      return <State shape="✗" colour="text-failed" words="Signed out." />;
    default:
      return <State shape="◌" colour="text-ink-2" words="connecting" />;
  }
}

function Waiting() {
  const nextTry = useApp((state) => state.nextTry);
  const seconds = useTicking(() => Math.max(0, Math.ceil((nextTry - performance.now()) / 1000)));
  return (
    <State shape="◌" colour="text-needs" words="Can't reach the server." quiet={`Retrying in ${seconds} s.`}>
      <Act words="Retry now" onClick={() => socket.wake()} />
    </State>
  );
}

/** Where there is no list with its foot: only what one has to know, and until it is over. */
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
  words: string;
  /** Seen, and not said aloud every second. */
  quiet?: string;
  children?: React.ReactNode;
}

function State({ shape, colour, words, quiet = "", children }: StateProps) {
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-x-1 text-small">
      <span role="status" className={`inline-flex items-center gap-1 ${colour}`}>
        <span aria-hidden="true" className="w-3.5 text-center">
          {shape}
        </span>
        <span>{words}</span>
      </span>
      {quiet && <span className="tabular text-ink-2">{quiet}</span>}
      {children}
    </div>
  );
}

function Act({ words, onClick }: { words: string; onClick: () => void }) {
  return (
    <button type="button" onClick={onClick} className="target text-accent underline underline-offset-2">
      {words}
    </button>
  );
}
