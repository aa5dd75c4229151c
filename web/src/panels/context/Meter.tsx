/** Context usage of a session. */
import type { SessionView } from "@/api/types";
import { count } from "@/format/values";
import { useApp } from "@/state/app";

const PARTS = [
  { part: "cache_read", label: "Cache read", colour: "bg-accent" },
  { part: "cache_write", label: "Cache write", colour: "bg-done" },
  { part: "input", label: "Uncached input", colour: "bg-needs" },
  { part: "output", label: "Output", colour: "bg-ink-3" },
] as const;

export function Meter({ session }: { session: SessionView }) {
  const thresholds = useApp((state) => state.config?.thresholds);
  const { last_usage: usage, context, context_limit: limit } = session;
  const part = limit > 0 ? context / limit : 0;
  const percent = Math.round(part * 100);
  const warned =
    thresholds && part >= thresholds.critical.at
      ? thresholds.critical
      : thresholds && part >= thresholds.warning.at
        ? thresholds.warning
        : null;
  const colour = !warned ? "" : warned === thresholds?.critical ? "text-failed" : "text-needs";
  return (
    <div className="space-y-2 px-3">
      <p className="m-0 flex items-baseline gap-2">
        <span className={`tabular text-[20px] leading-7 font-semibold ${colour}`}>{percent}%</span>
        <span className="tabular text-ink-2">
          {count(context)} of {count(limit)} tokens
        </span>
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: a <meter> cannot show its parts */}
      <div
        role="meter"
        aria-label="Context used"
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
        className="flex h-2 gap-px overflow-hidden rounded-full bg-surface-3"
      >
        {PARTS.map(({ part: name, colour: fill }) => (
          <span
            key={name}
            className={fill}
            style={{ width: `${Math.min(100, ((usage[name] ?? 0) / Math.max(1, limit)) * 100)}%` }}
          />
        ))}
      </div>
      {warned && <p className={`m-0 ${colour}`}>{warned.text}</p>}
      <ul className="m-0 grid list-none grid-cols-2 gap-x-4 p-0">
        {PARTS.map(({ part: name, label, colour: fill }) => (
          <li key={name} className="flex items-center gap-2">
            <span className={`size-2 shrink-0 rounded-full ${fill}`} />
            <span className="flex-1 truncate text-ink-2">{label}</span>
            <span className="tabular">{count(usage[name] ?? 0)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
