/** Archives one or several sessions, with an undo. */
import type { SessionView } from "@/api/types";
import { plural } from "@/format/values";
import { archive, configure } from "@/state/actions";
import { toast } from "@/ui/toast";

export async function archiveAll(sessions: SessionView[]): Promise<void> {
  const [first, ...others] = sessions;
  if (!first) return;
  if (others.length === 0) return archive(first);
  const changed = (await setArchived(sessions, true)).filter((each) => each !== undefined);
  if (changed.length === 0) return;
  toast(`Archived ${plural(changed.length, "session")}.`, {
    action: { label: "Undo", onClick: () => void setArchived(changed, false) },
  });
}

function setArchived(sessions: SessionView[], archived: boolean): Promise<(SessionView | undefined)[]> {
  return Promise.all(sessions.map((each) => configure(each.id, { archived })));
}
