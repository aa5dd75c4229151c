/** The first visit: what this is, and one thing to do. */
import { Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { DirectoryField, useRecentDirectories } from "@/pages/new/DirectoryField";
import { type Problems, told } from "@/pages/new/problems";
import { launch } from "@/state/actions";
import { may, useApp } from "@/state/app";
import { useUi } from "@/state/ui";
import { Button } from "@/ui/Button";

const PROMPT = "Look around here and tell me what you find.";

const LINES: [string, string, string][] = [
  ["●", "text-running", "You start a session: a directory, and what is to be done in it."],
  ["✓", "text-done", "The agent works on the server. Close this page whenever you like; it goes on."],
  [
    "◆",
    "text-needs",
    "When it needs you, it says so here, in the inbox and in the title of this tab. You allow or deny.",
  ],
];

export function Welcome() {
  const allowed = useApp((state) => may(state.me, "operate"));
  return (
    <div className="flex h-full overflow-y-auto p-6">
      <div className="m-auto w-full max-w-130">
        <h1 className="m-0 text-[22px] leading-8 font-semibold">Agents that work in your directories</h1>
        <ul className="m-0 mt-4 list-none space-y-2 p-0 text-prose text-ink-2">
          {LINES.map(([shape, colour, words]) => (
            <li key={words} className="flex gap-2.5">
              <span aria-hidden="true" className={`w-4 shrink-0 text-center ${colour}`}>
                {shape}
              </span>
              {words}
            </li>
          ))}
        </ul>
        {allowed && <Demo />}
        <p className="m-0 mt-6 flex flex-wrap items-center gap-x-4 gap-y-2">
          {allowed && (
            <Link to="/new" className="text-accent underline underline-offset-2">
              Start with a model of your own
            </Link>
          )}
          <Button look="quiet" onClick={() => useUi.getState().set({ welcomed: true })}>
            Do not show this again
          </Button>
        </p>
      </div>
    </div>
  );
}

/** A session with the demo model: everything about it is real but the thinking. */
function Demo() {
  const suggested = useSuggestedDirectory();
  const [chosen, setChosen] = useState<string | null>(null);
  const [problems, setProblems] = useState<Problems>({});
  const [busy, setBusy] = useState(false);
  const navigate = useNavigate();
  const cwd = chosen ?? suggested;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!cwd.trim()) {
      setProblems({ cwd: "Choose the directory to work in." });
      return;
    }
    setBusy(true);
    try {
      const session = await launch({ cwd: cwd.trim(), prompt: PROMPT, model: "demo", title: "A first look" });
      useUi.getState().set({ welcomed: true });
      await navigate({ to: "/session/$id", params: { id: session.id } });
    } catch (error) {
      setProblems(told(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form noValidate aria-label="Try it" onSubmit={(event) => void submit(event)} className="mt-6">
      <DirectoryField
        value={cwd}
        onChange={setChosen}
        problem={problems.cwd ?? problems.all ?? problems.model}
        about="The demo only reads here. It needs no key and no network."
      />
      <Button look="primary" type="submit" disabled={busy} className="mt-3 h-9 px-4 max-md:w-full">
        Try it with the offline demo model
      </Button>
    </form>
  );
}

function useSuggestedDirectory(): string {
  const recent = useRecentDirectories();
  const first = useApp((state) => state.config?.roots[0] ?? "");
  return recent.data?.[0]?.path ?? first;
}
