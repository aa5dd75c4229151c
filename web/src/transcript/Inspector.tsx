/** Inspector: a call's input, output and permission decision in full. */
import { useQuery } from "@tanstack/react-query";
import { Tabs } from "radix-ui";
import { useState } from "react";
import { api, errorMessage, unwrap } from "@/api/client";
import { bytes, duration, moment } from "@/format/values";
import { useRow } from "@/state/hooks";
import type { ToolRow } from "@/state/rows";
import type { Transcript } from "@/state/transcript";
import { Ansi } from "@/text/Ansi";
import { Code } from "@/text/Code";
import { plainText } from "@/text/terminal";
import { viewOf } from "@/tools/registry";
import { Button } from "@/ui/Button";
import { copy } from "@/ui/copy";
import { ErrorBoundary } from "@/ui/ErrorBoundary";
import { Icon } from "@/ui/Icon";
import { Sheet } from "@/ui/Sheet";
import { closeInspector } from "./inspect";
import { toolStatusStyle } from "./labels";
import { linkTo } from "./links";

export function Inspector({ transcript, callId }: { transcript: Transcript; callId: string }) {
  const row = useRow(transcript, callId);
  if (row?.kind !== "tool") return null;
  const view = viewOf(row.name);
  return (
    <Sheet open onClose={closeInspector} title={view.title(row)} about={about(row)} wide>
      <CallDetails transcript={transcript} row={row} />
    </Sheet>
  );
}

function about(row: ToolRow): string {
  const { label } = toolStatusStyle(row);
  return [
    row.name,
    label,
    moment(row.startedAt || row.at),
    row.durationMs > 0 ? duration(row.durationMs) : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

function CallDetails({ transcript, row }: { transcript: Transcript; row: ToolRow }) {
  const whole = useQuery({
    queryKey: ["call", transcript.id, row.id, row.status],
    queryFn: () =>
      unwrap(
        api.GET("/sessions/{id}/calls/{call_id}", {
          params: { path: { id: transcript.id, call_id: row.id } },
        }),
      ),
    retry: false,
  });
  const view = viewOf(row.name);
  const Full = view.Full ?? view.Body;
  const input = JSON.stringify(whole.data?.input ?? row.input, null, 2) ?? "";
  const output = whole.data?.output ?? row.output;
  // The row may hold only the ends of a long call: what is copied waits for all of it.
  const loaded = async () => whole.data ?? (await whole.refetch({ cancelRefetch: false })).data ?? row;
  const copyInput = async () => copy(JSON.stringify((await loaded()).input, null, 2) ?? "", "Input copied");
  const copyOutput = async () => copy(plainText((await loaded()).output ?? ""), "Output copied");
  return (
    <Tabs.Root defaultValue="view" className="flex min-h-0 flex-col">
      <div className="hairline-b sticky top-0 z-10 flex flex-wrap items-center gap-1 bg-surface-1 px-3 py-2">
        <Tabs.List aria-label="Call details" className="flex gap-0.5">
          <Tab value="view">Call</Tab>
          <Tab value="input">Input</Tab>
          <Tab value="output">Output</Tab>
        </Tabs.List>
        <span className="flex-1" />
        <Button look="quiet" icon={<Icon name="copy" />} onClick={() => void copyInput()}>
          Copy input
        </Button>
        <Button look="quiet" icon={<Icon name="copy" />} onClick={() => void copyOutput()}>
          Copy output
        </Button>
        <Button
          look="quiet"
          icon={<Icon name="link" />}
          onClick={() => void copy(linkTo(transcript.id, row), "Link copied")}
        >
          Copy link
        </Button>
      </div>
      <div className="min-w-0 px-4 py-3">
        {whole.error && (
          <p role="alert" className="m-0 mb-2 text-failed">
            The full call could not be loaded: {errorMessage(whole.error)}
          </p>
        )}
        <Tabs.Content value="view">
          <Decision row={row} />
          <ErrorBoundary label="This call" resetKey={row}>
            <Full row={row} sessionId={transcript.id} />
          </ErrorBoundary>
        </Tabs.Content>
        <Tabs.Content value="input">
          <pre className="m-0 font-mono text-code break-words whitespace-pre-wrap">
            <Code text={input} language="json" />
          </pre>
        </Tabs.Content>
        <Tabs.Content value="output">
          <Output text={output} />
        </Tabs.Content>
      </div>
    </Tabs.Root>
  );
}

function Tab({ value, children }: { value: string; children: string }) {
  return (
    <Tabs.Trigger
      value={value}
      className="target rounded-box px-2 py-1 text-ink-2 hover:text-ink-1 data-[state=active]:bg-surface-2 data-[state=active]:text-ink-1"
    >
      {children}
    </Tabs.Trigger>
  );
}

/** Who allowed or denied it, and why. */
function Decision({ row }: { row: ToolRow }) {
  const { interaction, decided } = row;
  const person = interaction?.outcome
    ? `${interaction.outcome} by ${interaction.by || "a person"}${interaction.message ? `: ${interaction.message}` : ""}`
    : "";
  const rule = decided
    ? [decided.verdict === "accept" ? "allowed" : "denied", decided.why || decided.source]
    : [];
  const text = person || rule.filter(Boolean).join(": ");
  if (!text) return null;
  return <p className="m-0 mb-2 text-ink-3">Permission: {text}</p>;
}

/** Characters rendered at once. */
const PART = 262_144;

function Output({ text }: { text: string }) {
  const [shown, setShown] = useState(PART);
  if (!text) return <p className="m-0 text-ink-3">No output.</p>;
  const parts: string[] = [];
  for (let from = 0; from < Math.min(shown, text.length); from += PART / 8)
    parts.push(text.slice(from, Math.min(from + PART / 8, shown)));
  return (
    <>
      <pre className="m-0 font-mono text-code break-words whitespace-pre-wrap">
        {parts.map((part, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts are only ever added at the end
          <Ansi key={index} text={part} />
        ))}
      </pre>
      {text.length > shown && (
        <Button className="mt-2" onClick={() => setShown(shown + PART)}>
          Show more ({bytes(text.length - shown)} left)
        </Button>
      )}
    </>
  );
}
