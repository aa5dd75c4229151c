/** A call in full: what was asked for, what came of it, who allowed it (S000-79, third level). */
import { useQuery } from "@tanstack/react-query";
import { Tabs } from "radix-ui";
import { useState } from "react";
import { api, said, wordsOf } from "@/api/client";
import { useRow } from "@/state/hooks";
import type { ToolRow } from "@/state/rows";
import type { Transcript } from "@/state/transcript";
import { Ansi } from "@/text/Ansi";
import { Code } from "@/text/Code";
import { plain } from "@/text/terminal";
import { viewOf } from "@/tools/registry";
import { Boundary } from "@/ui/Boundary";
import { Button } from "@/ui/Button";
import { copy } from "@/ui/copy";
import { Icon } from "@/ui/Icon";
import { Sheet } from "@/ui/Sheet";
import { bytes, duration, moment } from "@/words/format";
import { closeInspector, useInspected } from "./inspect";
import { linkTo } from "./links";
import { toolStanding } from "./words";

export function Inspector({ transcript }: { transcript: Transcript }) {
  const { sessionId, callId } = useInspected();
  if (sessionId !== transcript.id || !callId) return null;
  return <Opened key={callId} transcript={transcript} callId={callId} />;
}

function Opened({ transcript, callId }: { transcript: Transcript; callId: string }) {
  const row = useRow(transcript, callId);
  if (row?.kind !== "tool") return null;
  const view = viewOf(row.name);
  return (
    <Sheet open onClose={closeInspector} title={view.title(row)} about={about(row)} wide>
      <Look transcript={transcript} row={row} />
    </Sheet>
  );
}

function about(row: ToolRow): string {
  const { word } = toolStanding(row);
  return [row.name, word, moment(row.startedAt || row.at), row.durationMs > 0 ? duration(row.durationMs) : ""]
    .filter(Boolean)
    .join(" · ");
}

function Look({ transcript, row }: { transcript: Transcript; row: ToolRow }) {
  const whole = useQuery({
    queryKey: ["call", transcript.id, row.id, row.status],
    queryFn: () =>
      said(
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
  return (
    <Tabs.Root defaultValue="view" className="flex min-h-0 flex-col">
      <div className="hairline-b sticky top-0 z-10 flex flex-wrap items-center gap-1 bg-surface-1 px-3 py-2">
        <Tabs.List aria-label="What of the call" className="flex gap-0.5">
          <Tab value="view">Call</Tab>
          <Tab value="input">Input</Tab>
          <Tab value="output">Output</Tab>
        </Tabs.List>
        <span className="flex-1" />
        <Button look="quiet" icon={<Icon name="copy" />} onClick={() => void copy(input, "Input copied")}>
          Copy input
        </Button>
        <Button
          look="quiet"
          icon={<Icon name="copy" />}
          onClick={() => void copy(plain(output), "Output copied")}
        >
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
            Only what is on this page can be shown: {wordsOf(whole.error)}
          </p>
        )}
        <Tabs.Content value="view">
          <Decision row={row} />
          <Boundary what="This call" resetKey={row}>
            <Full row={row} sessionId={transcript.id} />
          </Boundary>
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

/** Who decided that it may run, and why. */
function Decision({ row }: { row: ToolRow }) {
  const { interaction, decided } = row;
  const person = interaction?.outcome
    ? `${interaction.outcome} by ${interaction.by || "a person"}${interaction.message ? `: ${interaction.message}` : ""}`
    : "";
  const rule = decided
    ? [decided.verdict === "accept" ? "allowed" : "denied", decided.why || decided.source]
    : [];
  const words = person || rule.filter(Boolean).join(": ");
  if (!words) return null;
  return <p className="m-0 mb-2 text-ink-3">Permission: {words}</p>;
}

/** Characters drawn at once. */
const PART = 262_144;

function Output({ text }: { text: string }) {
  const [shown, setShown] = useState(PART);
  if (!text) return <p className="m-0 text-ink-3">There is no output.</p>;
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
