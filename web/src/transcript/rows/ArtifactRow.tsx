/** An artifact of a workflow: a research note, a plan or a review. */
import type { ArtifactRow as Row } from "@/state/rows";
import { Markdown } from "@/text/Markdown";
import { Icon } from "@/ui/Icon";
import { useFold } from "../useFold";

const KINDS: Record<Row["of"], string> = { research: "Research note", plan: "Plan", review: "Review" };

export function ArtifactRow({ row }: { row: Row }) {
  const [open, change] = useFold(row.id, false);
  return (
    <div className="my-1 border-l-2 border-accent">
      <button
        type="button"
        aria-expanded={open}
        onClick={(event) => change(event.currentTarget)}
        className="target flex h-8 w-full min-w-0 items-center gap-2 pl-2 text-left hover:bg-surface-1"
      >
        <Icon name={open ? "chevronDown" : "chevronRight"} size={12} className="text-ink-3" />
        <Icon name="file" size={14} className="text-ink-3" />
        <span className="text-ink-3">{KINDS[row.of]}</span>
        <span className="min-w-0 flex-1 truncate">{row.title}</span>
      </button>
      {open && (
        <div className="pl-[30px]">
          <Markdown text={row.text} streaming={false} />
        </div>
      )}
    </div>
  );
}
