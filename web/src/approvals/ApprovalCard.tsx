/** An approval request: a permission, a question or a plan, with everything needed to decide. */
import { lazy, type ReactNode, Suspense } from "react";
import type { InteractionOpened, InteractionView, SessionView } from "@/api/types";
import { hasScope, useApp } from "@/state/app";
import { ErrorBoundary } from "@/ui/ErrorBoundary";
import { Icon } from "@/ui/Icon";
import { VisibleText } from "@/ui/VisibleText";
import { isElicitation } from "./elicitation";
import { PermissionRequest } from "./PermissionRequest";
import { requestReason, requestTitle } from "./requestText";
import { answeredHere, resolutionText } from "./resolution";

/** Permission requests are the most frequent; the others are loaded on demand. */
const Plan = lazy(async () => ({ default: (await import("./PlanReview")).PlanReview }));
const Elicitation = lazy(async () => ({ default: (await import("./ElicitationForm")).ElicitationForm }));
const Question = lazy(async () => ({ default: (await import("./QuestionForm")).QuestionForm }));

export interface ApprovalCardProps {
  session: SessionView;
  interaction: InteractionView;
  opened: InteractionOpened;
  onDone?: () => void;
  /** Whether A, D and numbers act on this request: there may be several on a page. */
  keys?: boolean;
  /** The sub-agent that asks, with its task where that is known. */
  asker?: string;
  /** At the right of its header: position among the requests. */
  aside?: ReactNode;
}

export interface RequestProps {
  session: SessionView;
  interaction: InteractionView;
  opened: InteractionOpened;
  keys: boolean;
  onDone?: () => void;
}

export function ApprovalCard({ keys = true, asker, aside, ...props }: ApprovalCardProps) {
  const { interaction, opened } = props;
  const settled = useApp((state) => state.settled[interaction.id]);
  const me = useApp((state) => state.me);
  const who = asker || interaction.agent_name || interaction.agent || "";
  const title = requestTitle(opened);
  const reason = requestReason(opened);
  return (
    <article aria-label={title} className="flex min-h-0 flex-col">
      <header className="flex items-center gap-x-2 px-3 pt-2 max-md:flex-wrap">
        <span aria-hidden="true" className="pulse-needs text-needs">
          ◆
        </span>
        <h2 className="m-0 min-w-0 truncate text-chrome font-semibold">
          <VisibleText text={title} />
        </h2>
        {who && (
          <span
            className="min-w-0 text-ink-2 max-md:order-last max-md:line-clamp-2 max-md:basis-full md:truncate"
            title={`Requested by the sub-agent ${who}`}
          >
            <Icon name="robot" size={14} className="mr-1 inline align-[-2px] text-ink-3" />
            asked by <VisibleText text={who} />
          </span>
        )}
        <span className="flex-1" />
        {aside}
      </header>
      {reason && (
        <p className="m-0 line-clamp-3 px-3 text-small text-ink-2" title={reason}>
          <TextWithCode text={reason} />
        </p>
      )}
      {settled && !answeredHere.has(interaction.id) ? (
        <p role="status" className="m-0 px-3 py-2 text-ink-2">
          <VisibleText text={resolutionText(interaction, settled, me?.name ?? "")} />
        </p>
      ) : (
        <ErrorBoundary label="Request" resetKey={interaction.id}>
          {!hasScope(me, "approve") && (
            <p role="note" className="m-0 px-3 pt-1 text-small text-ink-3">
              You can read this request, but not answer it.
            </p>
          )}
          <Suspense fallback={null}>
            <RequestBody key={interaction.id} {...props} keys={keys} />
          </Suspense>
        </ErrorBoundary>
      )}
    </article>
  );
}

function RequestBody(props: RequestProps) {
  if (isElicitation(props.opened.call)) return <Elicitation {...props} />;
  if (props.opened.kind === "question") return <Question {...props} />;
  if (props.opened.kind === "plan") return <Plan {...props} />;
  return <PermissionRequest {...props} />;
}

/** Text with `code` in backticks. */
function TextWithCode({ text }: { text: string }) {
  let offset = 0;
  return text.split("`").map((piece, index) => {
    const key = offset;
    offset += piece.length + 1;
    const shown = <VisibleText key={key} text={piece} />;
    return index % 2 === 0 ? (
      shown
    ) : (
      <code key={key} className="font-mono">
        {shown}
      </code>
    );
  });
}
