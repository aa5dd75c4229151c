/** Stacked bars by day. Hovering a day shows its numbers; the table has them all. */
import { useState } from "react";
import type { Spent } from "@/api/types";
import { usePanelWidth } from "@/panels/usePanelWidth";
import { dayLabel, scaleOf } from "./days";

export interface Layer {
  label: string;
  /** CSS class of the fill. */
  colour: string;
  /** CSS class of the legend. */
  box: string;
  of: (spent: Spent) => number;
}

interface Props {
  label: string;
  days: readonly Spent[];
  layers: readonly Layer[];
  shown: (value: number) => string;
}

const HEIGHT = 220;
const TOP = 8;
const BOTTOM = 24;
const LEFT = 52;

export function Bars({ label, days, layers, shown }: Props) {
  const room = usePanelWidth();
  const [at, setAt] = useState(-1);
  const sums = days.map((day) => layers.reduce((sum, layer) => sum + layer.of(day), 0));
  const scale = scaleOf(Math.max(...sums, 0));
  const most = scale.at(-1) || 1;
  const width = Math.max(240, room.width);
  const step = (width - LEFT) / days.length;
  const y = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most);
  const every = Math.max(1, Math.ceil(days.length / Math.max(2, Math.floor(width / 90))));
  const day = days[at];
  const total = sums.reduce((sum, each) => sum + each, 0);
  return (
    <figure className="m-0">
      <figcaption className="tabular flex min-h-6 flex-wrap items-center gap-x-4 text-small text-ink-2">
        <span className="font-medium text-ink-1">{day ? dayLabel(day.key) : `All ${days.length} days`}</span>
        <span>{shown(day ? (sums[at] ?? 0) : total)}</span>
        {layers.length > 1 &&
          layers.map((layer) => (
            <span key={layer.label} className="inline-flex items-center gap-1.5">
              <span className={`size-2 rounded-full ${layer.box}`} />
              {layer.label} {day && shown(layer.of(day))}
            </span>
          ))}
      </figcaption>
      <div ref={room.ref} className="w-full">
        <svg
          role="img"
          aria-label={`${label}, ${days.length} days, ${shown(total)} total. The numbers are in the table below.`}
          width={width}
          height={HEIGHT}
          onPointerLeave={() => setAt(-1)}
          onPointerMove={(event) => {
            const x = event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT;
            setAt(Math.max(-1, Math.min(days.length - 1, Math.floor(x / step))));
          }}
          className="block"
        >
          {scale.map((mark) => (
            <g key={mark}>
              <line x1={LEFT} x2={width} y1={y(mark)} y2={y(mark)} className="stroke-line" />
              <text x={LEFT - 8} y={y(mark) + 4} textAnchor="end" className="tabular fill-ink-3 text-[11px]">
                {shown(mark)}
              </text>
            </g>
          ))}
          {day && (
            <rect
              x={LEFT + at * step}
              y={TOP}
              width={step}
              height={HEIGHT - TOP - BOTTOM}
              className="fill-surface-2"
            />
          )}
          {days.map((each, index) => (
            <Stack
              key={each.key}
              day={each}
              layers={layers}
              x={LEFT + index * step + Math.min(step * 0.15, 6)}
              width={Math.max(1, step - Math.min(step * 0.3, 12))}
              y={y}
            />
          ))}
          {days.map((each, index) =>
            index % every === 0 ? (
              <text
                key={each.key}
                x={LEFT + (index + 0.5) * step}
                y={HEIGHT - 6}
                textAnchor="middle"
                className="fill-ink-3 text-[11px]"
              >
                {dayLabel(each.key)}
              </text>
            ) : null,
          )}
        </svg>
      </div>
    </figure>
  );
}

interface StackProps {
  day: Spent;
  layers: readonly Layer[];
  x: number;
  width: number;
  y: (value: number) => number;
}

function Stack({ day, layers, x, width, y }: StackProps) {
  let base = 0;
  return layers.map((layer) => {
    const from = base;
    base += layer.of(day);
    const height = y(from) - y(base);
    if (height <= 0) return null;
    return (
      <rect key={layer.label} x={x} width={width} y={y(base)} height={height} className={layer.colour} />
    );
  });
}
