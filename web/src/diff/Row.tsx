/** Rows of a diff, unified or side by side. Numbers and signs are not copied. */
import { memo } from "react";
import type { Token } from "@/text/highlight";
import { Comments } from "./Comments";
import { keyOf, lineRefOf, useCommenting } from "./comments";
import { LineText } from "./LineText";
import type { DiffLine } from "./lines";
import type { SplitRow } from "./split";

const GROUND = { same: "", added: "bg-added", removed: "bg-removed" } as const;
const SIGN = { same: " ", added: "+", removed: "-" } as const;
const SIGN_INK = { same: "", added: "text-done", removed: "text-failed" } as const;
const CODE = "min-w-0 pr-2 whitespace-pre-wrap wrap-anywhere [tab-size:4]";

interface LineProps {
  line: DiffLine;
  tokens: readonly Token[] | undefined;
  returns: boolean;
}

export const UnifiedLine = memo(function UnifiedLine({ line, tokens, returns }: LineProps) {
  return (
    <>
      <div
        data-kind={line.kind}
        className={`group/line grid min-h-[19px] grid-cols-[auto_auto_auto_minmax(0,1fr)] ${GROUND[line.kind]}`}
      >
        <LineNumbers line={line} both />
        <Sign line={line} />
        <div className={CODE}>
          <LineText line={line} tokens={tokens} returns={returns} />
        </div>
      </div>
      <Comments spot={lineRefOf(line)} text={line.text} />
    </>
  );
});

interface SplitProps extends SplitRow {
  leftTokens: readonly Token[] | undefined;
  rightTokens: readonly Token[] | undefined;
  returns: boolean;
}

export const SplitLine = memo(function SplitLine({
  left,
  right,
  leftTokens,
  rightTokens,
  returns,
}: SplitProps) {
  return (
    <>
      <div className="grid min-h-[19px] grid-cols-2">
        <Half line={left} tokens={leftTokens} side="left" returns={returns} />
        <Half line={right} tokens={rightTokens} side="right" returns={returns} />
      </div>
      {left && left.kind === "removed" && <Comments spot={lineRefOf(left)} text={left.text} />}
      {right && <Comments spot={lineRefOf(right)} text={right.text} />}
    </>
  );
});

function Half({
  line,
  tokens,
  side,
  returns,
}: {
  line: DiffLine | null;
  tokens: readonly Token[] | undefined;
  side: "left" | "right";
  returns: boolean;
}) {
  const edge = side === "right" ? "border-l border-line" : "";
  if (!line) return <div data-side={side} className={`bg-surface-1 ${edge}`} />;
  return (
    <div
      data-side={side}
      data-kind={line.kind}
      className={`group/line grid min-w-0 grid-cols-[auto_auto_minmax(0,1fr)] ${GROUND[line.kind]} ${edge}`}
    >
      <LineNumbers line={line} both={false} side={side} />
      <Sign line={line} />
      <div className={CODE}>
        <LineText line={line} tokens={tokens} returns={returns} />
      </div>
    </div>
  );
}

function Sign({ line }: { line: DiffLine }) {
  return (
    <span className={`w-[calc(1ch+12px)] pl-1.5 font-semibold select-none ${SIGN_INK[line.kind]}`}>
      {SIGN[line.kind]}
    </span>
  );
}

/** Line number as CSS content: neither copied nor read aloud. */
function OneNumber({ value, hidden = false }: { value: number | null; hidden?: boolean }) {
  return (
    <span
      data-number={value ?? ""}
      className={`tabular w-[calc(var(--digits)*1ch+14px)] pr-1.5 text-right text-ink-3 before:content-[attr(data-number)] ${hidden ? "max-md:hidden" : ""}`}
    />
  );
}

function LineNumbers({ line, both, side }: { line: DiffLine; both: boolean; side?: "left" | "right" }) {
  const { add, open, setOpen } = useCommenting();
  const numbers = both ? (
    <>
      {/* On phones only one number is shown: the new one, if there is one. */}
      <OneNumber value={line.old} hidden={line.now !== null} />
      <OneNumber value={line.now} hidden={line.now === null} />
    </>
  ) : (
    <OneNumber value={side === "left" ? line.old : line.now} />
  );
  const span = both ? "col-span-2" : "";
  // Unchanged lines are commented on the right side only.
  if (!add || (side === "left" && line.kind === "same"))
    return <span className={`flex select-none ${span}`}>{numbers}</span>;
  const spot = lineRefOf(line);
  const key = keyOf(spot);
  return (
    <button
      type="button"
      data-diff-line={key}
      tabIndex={-1}
      aria-label={`Comment on ${spot.side} line ${spot.line}`}
      aria-expanded={open === key}
      onClick={() => setOpen(open === key ? "" : key)}
      className={`relative flex cursor-pointer items-start select-none ${span}`}
    >
      {numbers}
      <span
        aria-hidden="true"
        className="absolute top-px right-0 hidden h-[17px] w-[17px] items-center justify-center rounded bg-accent text-on-accent group-hover/line:flex in-focus-visible:flex"
      >
        +
      </span>
    </button>
  );
}
