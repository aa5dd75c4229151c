/** Welcome on the first visit. */
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { errorMessage } from "@/api/client";
import { shortPath } from "@/format/values";
import { startDemo } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { useUi } from "@/state/ui";
import { Button } from "@/ui/Button";

const LINES: [string, string, string][] = [
  ["●", "text-running", "Start a session: choose a directory and describe the task."],
  ["✓", "text-done", "The agent works on the server. You can close this tab."],
  [
    "◆",
    "text-needs",
    "When it needs you, a request appears here, in the inbox and in the tab's title. You allow or deny.",
  ],
];

export function Welcome() {
  const allowed = useApp((state) => hasScope(state.me, "operate"));
  const admin = useApp((state) => hasScope(state.me, "admin"));
  const connected = useApp((state) => Boolean(state.config?.default_model));
  return (
    <div className="flex h-full overflow-y-auto p-6">
      <div className="m-auto w-full max-w-130">
        <h1 className="m-0 text-[22px] leading-8 font-semibold">Agents that work in your directories</h1>
        <ul className="m-0 mt-4 list-none space-y-2 p-0 text-prose text-ink-2">
          {LINES.map(([shape, colour, text]) => (
            <li key={text} className="flex gap-2.5">
              <span aria-hidden="true" className={`w-4 shrink-0 text-center ${colour}`}>
                {shape}
              </span>
              {text}
            </li>
          ))}
        </ul>
        {allowed && <Demo />}
        <p className="m-0 mt-6 flex flex-wrap items-center gap-x-4 gap-y-2">
          {admin && !connected && (
            <Link
              to="/settings/$part"
              params={{ part: "models" }}
              className="text-accent underline underline-offset-2"
            >
              Connect a model
            </Link>
          )}
          {allowed && (
            <Link to="/new" className="text-accent underline underline-offset-2">
              New session
            </Link>
          )}
          <Button look="quiet" onClick={() => useUi.getState().set({ welcomed: true })}>
            Don't show again
          </Button>
        </p>
      </div>
    </div>
  );
}

/** Starts a session with the scripted demo model. */
function Demo() {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const navigate = useNavigate();
  const start = async () => {
    setBusy(true);
    setProblem("");
    try {
      const session = await startDemo();
      useUi.getState().set({ welcomed: true });
      await navigate({ to: "/session/$id", params: { id: session.id } });
    } catch (error) {
      setProblem(errorMessage(error));
    } finally {
      setBusy(false);
    }
  };
  const root = useApp((state) => shortPath(state.config?.roots[0] ?? "", state.config?.home));
  return (
    <div className="mt-6">
      <Button look="primary" disabled={busy} onClick={() => void start()} className="h-9 px-4 max-md:w-full">
        Try it
      </Button>
      <p className="m-0 mt-2 text-small text-ink-3">
        A scripted demo model fixes a failing test in a new folder in{" "}
        {root === "~" ? "your home directory" : <bdi className="font-mono">{root}</bdi>}. It asks you once. No
        key and no network needed.
      </p>
      {problem && (
        <p role="alert" className="m-0 mt-2 text-failed">
          {problem}
        </p>
      )}
    </div>
  );
}
