/** One thing a person is asked, with all that is needed to decide: a permission, a question, or a plan. */
import { lazy, type ReactNode, Suspense } from "react";
import type { InteractionOpened, InteractionView, SessionView } from "@/api/types";
import { may, useApp } from "@/state/app";
import { Boundary } from "@/ui/Boundary";
import { Shown } from "@/ui/Hidden";
import { askedWords, reasonOf } from "./asking";
import { Permission } from "./Permission";
import { mine, settledWords } from "./settled";

/** A permission is asked for most of all; the others come when they are. */
const Plan = lazy(async () => ({ default: (await import("./Plan")).Plan }));
const Question = lazy(async () => ({ default: (await import("./Question")).Question }));

export interface DecisionProps {
  session: SessionView;
  interaction: InteractionView;
  opened: InteractionOpened;
  onDone?: () => void;
  /** Whether A, D and numbers mean this one: there may be several on a page. */
  keys?: boolean;
  /** The sub-agent that asks, where it is known by more than its name. */
  asker?: string;
  /** At the right of its head: which of how many. */
  aside?: ReactNode;
}

export interface PartProps {
  session: SessionView;
  interaction: InteractionView;
  opened: InteractionOpened;
  keys: boolean;
  onDone?: () => void;
}

export function Decision({ keys = true, asker, aside, ...props }: DecisionProps) {
  const { interaction, opened } = props;
  const settled = useApp((state) => state.settled[interaction.id]);
  const me = useApp((state) => state.me);
  const who = asker || interaction.agent || "";
  const words = askedWords(opened);
  const reason = reasonOf(opened);
  return (
    <article aria-label={words} className="flex min-h-0 flex-col">
      <header className="flex items-center gap-2 px-3 pt-2">
        <span aria-hidden="true" className="pulse-needs text-needs">
          ◆
        </span>
        <h2 className="m-0 min-w-0 truncate text-chrome font-semibold">
          <Shown text={words} />
        </h2>
        {who && (
          <span className="min-w-0 truncate text-ink-2" title="Asked by a sub-agent">
            for <Shown text={who} />
          </span>
        )}
        <span className="flex-1" />
        {aside}
      </header>
      {reason && (
        <p className="m-0 line-clamp-3 px-3 text-small text-ink-2" title={reason}>
          <Quoting text={reason} />
        </p>
      )}
      {settled && !mine.has(interaction.id) ? (
        <p role="status" className="m-0 px-3 py-2 text-ink-2">
          <Shown text={settledWords(interaction, settled, me?.name ?? "")} />
        </p>
      ) : (
        <Boundary what="What is asked" resetKey={interaction.id}>
          {!may(me, "approve") && (
            <p role="note" className="m-0 px-3 pt-1 text-small text-ink-3">
              You may read this, but not decide it.
            </p>
          )}
          <Suspense fallback={null}>
            <Part key={interaction.id} {...props} keys={keys} />
          </Suspense>
        </Boundary>
      )}
    </article>
  );
}

function Part(props: PartProps) {
  if (props.opened.kind === "question") return <Question {...props} />;
  if (props.opened.kind === "plan") return <Plan {...props} />;
  return <Permission {...props} />;
}

/** Words in which what is quoted by backticks is code. */
function Quoting({ text }: { text: string }) {
  let place = 0;
  return text.split("`").map((piece, index) => {
    const key = place;
    place += piece.length + 1;
    const shown = <Shown key={key} text={piece} />;
    return index % 2 === 0 ? (
      shown
    ) : (
      <code key={key} className="font-mono">
        {shown}
      </code>
    );
  });
}
