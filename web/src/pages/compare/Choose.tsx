/** Selects two to four sessions to compare. */
import { useMemo, useState } from "react";
import { ago, baseName } from "@/format/values";
import { useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { INPUT } from "@/ui/Field";
import { StatusMark } from "@/ui/Status";
import { MOST } from "./ChangesSideBySide";

const SHOWN = 100;

interface Props {
  chosen: readonly string[];
  onCompare: (ids: string[]) => void;
}

export function Choose({ chosen, onCompare }: Props) {
  const sessions = useApp((state) => state.sessions);
  const [picked, setPicked] = useState<string[]>([...chosen]);
  const [filter, setFilter] = useState("");
  const found = useMemo(() => {
    const wanted = filter.trim().toLowerCase();
    return Object.values(sessions)
      .filter((each) =>
        `${each.title} ${each.first_prompt} ${each.cwd} ${each.model}`.toLowerCase().includes(wanted),
      )
      .sort((a, b) => b.updated_at - a.updated_at)
      .slice(0, SHOWN);
  }, [sessions, filter]);
  const toggle = (id: string) =>
    setPicked((before) => (before.includes(id) ? before.filter((each) => each !== id) : [...before, id]));
  return (
    <section aria-label="Choose sessions" className="space-y-2">
      <div className="flex items-center gap-2">
        <h2 className="m-0 flex-1 text-prose font-semibold">Sessions</h2>
        <Button
          look="primary"
          disabled={picked.length < 2 || picked.length > MOST}
          onClick={() => onCompare(picked)}
        >
          Compare {picked.length > 1 ? picked.length : ""}
        </Button>
      </div>
      <input
        type="search"
        aria-label="Find session"
        placeholder="Find by title, prompt, directory or model"
        value={filter}
        onChange={(event) => setFilter(event.target.value)}
        className={INPUT}
      />
      {picked.length > MOST && <p className="m-0 text-needs">At most {MOST} fit side by side.</p>}
      <ul className="m-0 max-h-96 list-none overflow-auto p-0">
        {found.map((session) => (
          <li key={session.id} className="hairline-b">
            <label className="flex min-h-9 items-center gap-3 hover:bg-surface-2 max-md:min-h-11">
              <input
                type="checkbox"
                checked={picked.includes(session.id)}
                onChange={() => toggle(session.id)}
                className="ml-1 size-3.5 shrink-0 accent-accent"
              />
              <StatusMark session={session} />
              <span className="min-w-0 flex-1 truncate">
                {session.title || session.first_prompt.split("\n")[0] || "Untitled"}
              </span>
              <span className="max-w-40 truncate text-ink-3">{session.model}</span>
              <span className="max-w-32 truncate text-ink-3">{baseName(session.cwd)}</span>
              <span className="tabular w-10 text-right text-small text-ink-3">{ago(session.updated_at)}</span>
            </label>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p className="m-0 text-ink-3">No matching sessions.</p>}
    </section>
  );
}
