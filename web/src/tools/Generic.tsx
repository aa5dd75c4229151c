/** Any tool: its name, its input as JSON, its output (S000-74). */
import type { ToolRow } from "@/state/rows";
import { Shown } from "@/ui/Hidden";
import type { AskProps, CallProps, ToolView } from "./view";

function Body({ row }: CallProps) {
  return (
    <>
      <pre className="m-0 whitespace-pre-wrap text-code font-mono">{JSON.stringify(row.input, null, 2)}</pre>
      <pre className="m-0 whitespace-pre-wrap text-code font-mono">{row.output}</pre>
    </>
  );
}

function Asks({ input }: AskProps) {
  return (
    <pre className="m-0 whitespace-pre-wrap text-code font-mono">
      <Shown text={JSON.stringify(input, null, 2) ?? ""} />
    </pre>
  );
}

export const generic: ToolView = {
  icon: "plug",
  title: (row: ToolRow) => row.name || "Tool",
  Body,
  asks: Asks,
};
