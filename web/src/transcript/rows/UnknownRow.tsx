/** An entry of an unknown kind: its name and its data. */
import type { UnknownRow as Row } from "@/state/rows";
import { Icon } from "@/ui/Icon";
import { useFold } from "../useFold";

export function UnknownRow({ row }: { row: Row }) {
  const [open, change] = useFold(row.id, false);
  return (
    <div className="border-l-2 border-line-strong">
      <button
        type="button"
        aria-expanded={open}
        onClick={(event) => change(event.currentTarget)}
        className="target flex h-8 w-full min-w-0 items-center gap-2 pl-2 text-left text-ink-3 hover:bg-surface-1"
      >
        <Icon name={open ? "chevronDown" : "chevronRight"} size={12} />
        <span className="font-mono text-code">{row.name}</span>
        <span className="min-w-0 flex-1 truncate">unknown entry</span>
      </button>
      {open && (
        <pre className="m-0 pb-2 pl-[30px] font-mono text-code break-words whitespace-pre-wrap text-ink-2">
          {JSON.stringify(row.data, null, 2)}
        </pre>
      )}
    </div>
  );
}
