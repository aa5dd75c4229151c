/** Usage table with bars. */
import type { ReactNode } from "react";
import type { Spent } from "@/api/types";
import { VisibleText } from "@/ui/VisibleText";

export interface Column {
  label: string;
  of: (spent: Spent) => string;
}

interface Props {
  label: string;
  first: string;
  rows: readonly Spent[];
  columns: readonly Column[];
  /** The value the bars compare. */
  weigh: (spent: Spent) => number;
  name?: (spent: Spent) => ReactNode;
}

export function SpentTable({ label, first, rows, columns, weigh, name }: Props) {
  const most = Math.max(...rows.map(weigh), 0);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
    <div tabIndex={0} className="overflow-x-auto">
      <table aria-label={label} className="tabular w-full border-collapse">
        <thead>
          <tr className="text-left text-small text-ink-3">
            <th className="hairline-b h-7 pr-4 font-normal">{first}</th>
            {columns.map((column) => (
              <th key={column.label} className="hairline-b pl-4 text-right font-normal whitespace-nowrap">
                {column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key} className="hover:bg-surface-2">
              <th className="relative h-8 max-w-72 min-w-32 pr-4 text-left font-normal">
                <span
                  aria-hidden="true"
                  className="absolute bottom-0.5 left-0 h-0.5 rounded-full bg-accent"
                  style={{ width: `${most > 0 ? (weigh(row) / most) * 100 : 0}%` }}
                />
                <span className="block truncate" title={row.key}>
                  {name ? name(row) : <VisibleText text={row.key || "unknown"} />}
                </span>
              </th>
              {columns.map((column) => (
                <td key={column.label} className="pl-4 text-right whitespace-nowrap text-ink-2">
                  {column.of(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
