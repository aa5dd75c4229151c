/** MCP tool call: server, tool, input, and the texts, images and resources of the result. */
import { keyed } from "@/diff/keyed";
import type { RowImage, ToolRow } from "@/state/rows";
import { VisibleText } from "@/ui/VisibleText";
import { outputSummary } from "./Generic";
import { fieldsOf, hasFailed, jsonOf, textOf } from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { Input } from "./parts/Input";
import { Link } from "./parts/Link";
import { Literal, RequestField } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { LongText } from "./parts/LongText";
import { Problem } from "./parts/Outcome";
import { Output } from "./parts/Output";
import { ResultImages } from "./parts/ResultImages";
import { CodeGround, Section, Stack } from "./parts/Section";
import type { CallProps, ToolView } from "./view";

/** `mcp__server__tool`; the server's name may contain single underscores. */
export function mcpName(name: string): { server: string; tool: string } {
  const [, server = "", ...tool] = name.split("__");
  return { server, tool: tool.join("__") };
}

/** The content blocks of the result, if they were reported. */
function contentBlocks(display: unknown): Record<string, unknown>[] {
  const content = Array.isArray(display) ? display : fieldsOf(display).content;
  return Array.isArray(content) ? content.map(fieldsOf) : [];
}

function resourcesOf(row: ToolRow): { address: string; name: string; text: string }[] {
  return contentBlocks(row.display).flatMap((part) => {
    if (part.type === "resource_link")
      return [{ address: textOf(part, "uri"), name: textOf(part, "title", "name"), text: "" }];
    if (part.type !== "resource") return [];
    const text = textOf(part.resource, "text");
    return [{ address: textOf(part.resource, "uri"), name: "", text }];
  });
}

function imagesOf(row: ToolRow): RowImage[] {
  if (row.images.length > 0) return row.images;
  return contentBlocks(row.display).flatMap((part) => {
    if (part.type !== "image") return [];
    const source = fieldsOf(part.source);
    return [
      {
        mediaType: textOf(part, "mimeType") || textOf(source, "media_type"),
        data: textOf(part, "data") || textOf(source, "data"),
      },
    ];
  });
}

function View({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useFullCall(row, sessionId);
  const call = whole.row;
  const structured = fieldsOf(call.display).structuredContent;
  const resources = resourcesOf(call);
  return (
    <Stack>
      <CodeGround copied={jsonOf(call.input)}>
        <Input input={call.input} most={full ? 1_000 : 20} />
      </CodeGround>
      {hasFailed(call) && <Problem row={call} />}
      {!hasFailed(call) && call.settled && (call.output || imagesOf(call).length === 0) && (
        <Output text={call.output} full={full} />
      )}
      {structured !== undefined && structured !== null && (
        <Output text={jsonOf(structured)} label="Structured" full={full} />
      )}
      <ResultImages images={imagesOf(call)} />
      {keyed(resources).map(({ key, item }) => (
        <Section key={key} label="Resource">
          <p className="m-0">
            <Link address={item.address} /> <VisibleText text={item.name} />
          </p>
          {item.text && <LongText text={item.text} most={full ? 500 : 12} />}
        </Section>
      ))}
      <LoadAll whole={whole} />
    </Stack>
  );
}

/** A view per tool name: an approval request has to name the server. */
export function mcpView(name: string): ToolView {
  const { server, tool } = mcpName(name);
  return {
    icon: "plug",
    title: () => `${server || "MCP"} · ${tool || "tool"}`,
    inline: outputSummary,
    Body: Body,
    Full: Full,
    request: ({ input }) => (
      <Stack>
        <RequestField label="MCP tool" text={`${server} · ${tool}`} />
        <Literal label="Input" text={jsonOf(input)} />
      </Stack>
    ),
  };
}

const Body = (props: CallProps) => <View {...props} full={false} />;
const Full = (props: CallProps) => <View {...props} full />;
