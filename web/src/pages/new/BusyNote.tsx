/** Warns that another session works in the same directory, and offers a worktree. */
import { Link } from "@tanstack/react-router";
import { titleOf } from "@/layout/sessionOrder";
import { useApp } from "@/state/app";
import { useDraft } from "@/state/newSessionDraft";
import { Button } from "@/ui/Button";
import { writersIn } from "./busy";

export function BusyNote({ cwd }: { cwd: string }) {
  const sessions = useApp((state) => state.sessions);
  const home = useApp((state) => state.config?.home ?? "");
  const { worktree, set } = useDraft();
  const [first, ...others] = writersIn(Object.values(sessions), cwd, home);
  if (!first || worktree) return null;
  return (
    <section aria-label="Busy directory" className="rounded-box bg-needs-soft px-3 py-2">
      <p className="m-0 text-ink-1">
        <Link to="/session/$id" params={{ id: first.id }} className="underline underline-offset-2">
          <bdi>{titleOf(first)}</bdi>
        </Link>{" "}
        {others.length > 0 ? `and ${others.length} more are` : "is"} working in this directory. Two sessions
        can overwrite each other's files.
      </p>
      <Button className="mt-2" onClick={() => set({ worktree: true })}>
        Use a separate worktree
      </Button>
    </section>
  );
}
