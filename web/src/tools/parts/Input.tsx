/** The input of an unknown tool: one field per row, long texts as they are, the rest as JSON. */
import { VisibleText } from "@/ui/VisibleText";
import { fieldsOf, jsonOf } from "./fields";
import { LongText } from "./LongText";

/** One-line JSON for short values. */
function shortJson(value: unknown): string {
  const long = jsonOf(value);
  const short = long.length < 200 ? JSON.stringify(value) : "";
  return short && short.length <= 80 ? short : long;
}

export function Input({ input, most }: { input: unknown; most: number }) {
  const fields = Object.entries(fieldsOf(input));
  if (fields.length === 0) return <p className="m-0 text-ink-3">No input.</p>;
  return (
    <dl className="m-0 grid min-w-0 grid-cols-[minmax(0,auto)_minmax(0,1fr)] gap-x-3 gap-y-1">
      {fields.map(([name, value]) => (
        <div key={name} className="col-span-2 grid min-w-0 grid-cols-subgrid max-md:grid-cols-1">
          <dt className="max-w-40 font-mono text-code wrap-anywhere text-ink-3">
            <VisibleText text={name} />
          </dt>
          <dd className="m-0 min-w-0">
            <LongText text={typeof value === "string" ? value : shortJson(value)} most={most} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
