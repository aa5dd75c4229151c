/** Project directories; a click filters the list by one. */
import { useMemo } from "react";
import { oneLine } from "@/format/invisible";
import { shortPath } from "@/format/values";
import { useApp } from "@/state/app";
import { useUi } from "@/state/ui";
import { projectOf } from "./sessionOrder";

const MOST = 12;

export function Projects({ onPick }: { onPick: (path: string) => void }) {
  const grouping = useUi((state) => state.grouping);
  const home = useApp((state) => state.config?.home ?? "");
  const paths = useApp((state) => {
    const found = new Set<string>();
    for (const each of Object.values(state.sessions)) if (!each.archived) found.add(projectOf(each));
    return [...found].sort().slice(0, MOST).join("\n");
  });
  const projects = useMemo(() => paths.split("\n").filter(Boolean), [paths]);
  if (grouping === "project" || projects.length < 2) return null;
  return (
    <section aria-label="Projects" className="hairline-t mt-2 pt-2">
      <p
        aria-hidden="true"
        className="m-0 px-2 pb-1 text-[11px] leading-4 font-semibold tracking-wide text-ink-3 uppercase"
      >
        Projects
      </p>
      {projects.map((path) => (
        <button
          key={path}
          type="button"
          title={`Show only sessions in ${oneLine(path)}`}
          onClick={() => onPick(path)}
          className="target flex h-7 w-full items-center rounded-box px-2 text-left text-ink-2 hover:bg-surface-2 hover:text-ink-1"
        >
          {/* The end of a path identifies it: it is truncated at the start. */}
          <span dir="rtl" className="min-w-0 truncate">
            <bdi dir="ltr">{oneLine(shortPath(path, home))}</bdi>
          </span>
        </button>
      ))}
    </section>
  );
}
