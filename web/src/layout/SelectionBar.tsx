/** Actions on the selected sessions. */
import { runCommand } from "@/keys/useCommand";
import { Button } from "@/ui/Button";
import { select, useSelection } from "./selection";

export function SelectionBar() {
  const count = useSelection((state) => state.chosen.size);
  if (count === 0) return null;
  return (
    <div role="status" className="mx-2 flex items-center gap-1 rounded-box bg-surface-2 py-1 pr-1 pl-3">
      <span className="tabular flex-1">{count} selected</span>
      <Button look="quiet" command="list.clear" onClick={() => select([])}>
        Clear
      </Button>
      <Button command="list.archive" onClick={() => runCommand("list.archive")}>
        Archive
      </Button>
    </div>
  );
}
