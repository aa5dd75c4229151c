/** End of a turn: outcome, duration, usage and cost. */
import { clock } from "@/format/values";
import type { TurnRow as Row } from "@/state/rows";
import { endingLabel, exactCost, turnNumbers } from "../labels";

export function TurnRow({ row }: { row: Row }) {
  const { label, calm } = endingLabel(row);
  const failed = !calm;
  return (
    <div className="mt-1 mb-3">
      <div className="flex min-h-8 flex-wrap items-center gap-x-2 text-small text-ink-3">
        <span className={failed ? "text-failed" : row.ending === "completed" ? "text-done" : "text-ink-2"}>
          <span aria-hidden="true">{failed ? "✗" : row.ending === "completed" ? "✓" : "◌"}</span> {label}
        </span>
        {turnNumbers(row).map((each) => (
          <span
            key={each}
            className="tabular before:mr-2 before:content-['·']"
            title={each.startsWith("$") ? exactCost(row) : undefined}
          >
            {each}
          </span>
        ))}
        <time className="tabular ml-auto" dateTime={new Date(row.at).toISOString()}>
          {clock(row.at)}
        </time>
      </div>
      {!failed && row.text && <p className="m-0 break-words text-small text-ink-2">{row.text}</p>}
      {failed && (row.text || row.error) && (
        <p
          role="alert"
          className="m-0 rounded-box bg-failed-soft px-3 py-2 break-words whitespace-pre-wrap text-failed"
        >
          {row.text || row.error}
        </p>
      )}
    </div>
  );
}
