/** Resizes a column by dragging or with arrow keys. */
import { type KeyboardEvent, type PointerEvent, useRef } from "react";

const LEAST = 200;
const MOST = 900;
const STEP = 16;

interface Props {
  label: string;
  value: number;
  /** The column it resizes: the one to its left or to its right. */
  side: "left" | "right";
  onChange: (width: number) => void;
}

export function Resizer({ label, value, side, onChange }: Props) {
  const from = useRef({ x: 0, width: 0 });
  const sign = side === "left" ? 1 : -1;
  const set = (width: number) => onChange(Math.round(Math.min(MOST, Math.max(LEAST, width))));
  const down = (event: PointerEvent<HTMLDivElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    from.current = { x: event.clientX, width: value };
  };
  const move = (event: PointerEvent<HTMLDivElement>) => {
    if (event.currentTarget.hasPointerCapture(event.pointerId))
      set(from.current.width + sign * (event.clientX - from.current.x));
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === "ArrowLeft") set(value - sign * STEP);
    else if (event.key === "ArrowRight") set(value + sign * STEP);
    else return;
    event.preventDefault();
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: an <hr> cannot be moved
    <div
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation="vertical"
      aria-valuenow={value}
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      onPointerDown={down}
      onPointerMove={move}
      onKeyDown={key}
      className={`group absolute inset-y-0 z-10 w-2 cursor-col-resize touch-none ${side === "left" ? "-right-1" : "-left-1"}`}
    >
      <span className="absolute inset-y-0 left-1 w-px bg-line group-hover:bg-accent group-focus-visible:bg-accent" />
    </div>
  );
}
