/** Context usage of a session. */
import type { SessionView } from "@/api/types";
import { useApp } from "@/state/app";
import { type ContextUsage, contextUsage } from "./sessionStatus";

const COLOURS: Record<ContextUsage["variant"], string> = {
  default: "text-ink-2",
  warning: "text-needs",
  destructive: "text-failed",
};

export function TokenUsageBadge({ session }: { session: SessionView }) {
  const config = useApp((state) => state.config);
  const filling = contextUsage(session, config);
  if (!filling) return null;
  const { percent, numbers, variant, message } = filling;
  const title = message || `${numbers} tokens of context`;
  return (
    <span data-testid="token-badge" data-variant={variant} title={title} className="contents">
      {message && (
        <span
          title={title}
          className={`min-w-0 shrink-[4] truncate text-small max-md:hidden ${COLOURS[variant]}`}
        >
          {message}
        </span>
      )}
      <span title={title} className={`tabular shrink-0 text-small whitespace-nowrap ${COLOURS[variant]}`}>
        <span className="font-medium">{percent}%</span> <span className="max-md:hidden">{numbers}</span>
      </span>
    </span>
  );
}

/** The same in the session header: the percentage alone. */
export function ContextShare({ session }: { session: SessionView }) {
  const config = useApp((state) => state.config);
  const filling = contextUsage(session, config);
  if (!filling) return null;
  const { percent, numbers, variant, message } = filling;
  return (
    <span title={`${message || "Context in use"}: ${numbers} tokens`} className={COLOURS[variant]}>
      {percent}%<span className="text-ink-3"> ctx</span>
    </span>
  );
}
