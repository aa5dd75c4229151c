/** A notice that is not part of the conversation. */
import type { NoticeRow as Row } from "@/state/rows";

const LOOKS: Record<Row["level"], string> = {
  info: "text-ink-3 italic",
  notice: "text-ink-3 italic",
  warning: "rounded-box bg-needs-soft text-needs",
  error: "rounded-box bg-failed-soft text-failed",
};

export function NoticeRow({ row }: { row: Row }) {
  const role = row.level === "error" ? { role: "alert" as const } : {};
  return (
    <p {...role} className={`m-0 my-1 px-2 py-1.5 break-words whitespace-pre-wrap ${LOOKS[row.level]}`}>
      {row.text}
    </p>
  );
}
