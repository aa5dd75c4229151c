/** A tool of an MCP server: the server and the tool, the input, and the texts, pictures and resources it answered with. */
import { keyed } from "@/diff/keyed";
import type { Picture, ToolRow } from "@/state/rows";
import { Shown } from "@/ui/Hidden";
import { outputWords } from "./Generic";
import { fieldsOf, hasFailed, jsonOf, textOf } from "./parts/fields";
import { Input } from "./parts/Input";
import { Link } from "./parts/Link";
import { Asked, Literal } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { LongText } from "./parts/LongText";
import { Problem } from "./parts/Outcome";
import { Output } from "./parts/Output";
import { Pictures } from "./parts/Pictures";
import { Ground, Section, Stack } from "./parts/Section";
import { useWhole } from "./parts/whole";
import type { CallProps, ToolView } from "./view";

/** `mcp__server__tool`, where the server's name may hold single underscores. */
export function mcpName(name: string): { server: string; tool: string } {
  const [, server = "", ...tool] = name.split("__");
  return { server, tool: tool.join("__") };
}

/** What the server answered, part by part, where it was told so. */
function partsOf(display: unknown): Record<string, unknown>[] {
  const content = Array.isArray(display) ? display : fieldsOf(display).content;
  return Array.isArray(content) ? content.map(fieldsOf) : [];
}

function resourcesOf(row: ToolRow): { address: string; name: string; words: string }[] {
  return partsOf(row.display).flatMap((part) => {
    if (part.type === "resource_link")
      return [{ address: textOf(part, "uri"), name: textOf(part, "title", "name"), words: "" }];
    if (part.type !== "resource") return [];
    const words = textOf(part.resource, "text");
    return [{ address: textOf(part.resource, "uri"), name: "", words }];
  });
}

function picturesOf(row: ToolRow): Picture[] {
  if (row.pictures.length > 0) return row.pictures;
  return partsOf(row.display).flatMap((part) => {
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
  const whole = useWhole(row, sessionId);
  const call = whole.row;
  const structured = fieldsOf(call.display).structuredContent;
  const resources = resourcesOf(call);
  return (
    <Stack>
      <Ground copied={jsonOf(call.input)}>
        <Input input={call.input} most={full ? 1_000 : 20} />
      </Ground>
      {hasFailed(call) && <Problem row={call} />}
      {!hasFailed(call) && call.settled && (call.output || picturesOf(call).length === 0) && (
        <Output text={call.output} full={full} />
      )}
      {structured !== undefined && structured !== null && (
        <Output text={jsonOf(structured)} label="Structured" full={full} />
      )}
      <Pictures pictures={picturesOf(call)} />
      {keyed(resources).map(({ key, item }) => (
        <Section key={key} label="Resource">
          <p className="m-0">
            <Link address={item.address} /> <Shown text={item.name} />
          </p>
          {item.words && <LongText text={item.words} most={full ? 500 : 12} />}
        </Section>
      ))}
      <LoadAll whole={whole} />
    </Stack>
  );
}

/** A view for each name: what is asked has to say whose tool it is. */
export function mcpView(name: string): ToolView {
  const { server, tool } = mcpName(name);
  return {
    icon: "plug",
    title: () => `${server || "MCP"} · ${tool || "tool"}`,
    inline: outputWords,
    Body: Body,
    Full: Full,
    asks: ({ input }) => (
      <Stack>
        <Asked label="Tool of an MCP server" text={`${server} · ${tool}`} />
        <Literal label="Input" text={jsonOf(input)} />
      </Stack>
    ),
  };
}

const Body = (props: CallProps) => <View {...props} full={false} />;
const Full = (props: CallProps) => <View {...props} full />;
