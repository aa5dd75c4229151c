/** Words that are on their way to the server (S000-63). */
import type { Sending } from "@/state/transcript";
import { Words } from "./UserRow";

export function SendingRow({ sending }: { sending: Sending }) {
  return (
    <div className="my-2 rounded-box bg-surface-1 px-3 py-2 opacity-70">
      <div className="text-small text-ink-3">
        <span className="font-medium text-ink-2">You</span> sending
      </div>
      <Words text={sending.text} />
    </div>
  );
}
