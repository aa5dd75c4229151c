/** Header of the session list: filter and grouping. */
import { useUi } from "@/state/ui";
import { IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";

export function SessionListHeader({
  filter,
  onFilter,
}: {
  filter: string;
  onFilter: (text: string) => void;
}) {
  const grouping = useUi((state) => state.grouping);
  const other = grouping === "state" ? "project" : "state";
  return (
    <div className="hairline-t mt-2 flex items-center gap-1 px-2 pt-2">
      <label className="relative min-w-0 flex-1">
        <span className="sr-only">Filter sessions</span>
        <Icon name="filter" size={14} className="pointer-events-none absolute top-1.75 left-2 text-ink-3" />
        <input
          type="search"
          value={filter}
          placeholder="Filter"
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => onFilter(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            onFilter("");
            event.currentTarget.blur();
          }}
          className="h-7 w-full rounded-box border border-transparent bg-surface-2 pr-2 pl-7 placeholder:text-ink-3 focus:border-line-strong"
        />
      </label>
      <IconButton label={`Group by ${other}`} onClick={() => useUi.getState().set({ grouping: other })}>
        <Icon name={grouping === "state" ? "folder" : "list"} />
      </IconButton>
    </div>
  );
}
