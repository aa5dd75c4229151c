/** A divider that marks a change, such as of the model or the mode. */
import { Link } from "@tanstack/react-router";
import { clock } from "@/format/values";
import { useApp } from "@/state/app";
import { permissionLabel } from "@/state/modes";
import type { MarkRow as Row } from "@/state/rows";
import { markText } from "../labels";

export function MarkRow({ row }: { row: Row }) {
  const config = useApp((state) => state.config);
  const shown = row.of === "mode" ? { ...row, text: permissionLabel(config, row.text) } : row;
  return (
    <div className="my-1 flex min-h-8 items-center gap-3 text-small text-ink-3" title={clock(row.at)}>
      <span aria-hidden="true" className="h-px min-w-4 flex-1 bg-line" />
      <span className="min-w-0 break-words">
        {markText(shown)}
        {row.of === "forked" && (
          <>
            {" "}
            <Link to="/session/$id" params={{ id: row.text }} search={{}} className="text-accent underline">
              Open parent session
            </Link>
          </>
        )}
      </span>
      <span aria-hidden="true" className="h-px min-w-4 flex-1 bg-line" />
    </div>
  );
}
