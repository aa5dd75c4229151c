/** Context panel: context usage, cost, decisions, inventory, processes, settings. */
import type { SessionView } from "@/api/types";
import { serverNow } from "@/format/serverClock";
import { count, duration, moment, money } from "@/format/values";
import { useApp } from "@/state/app";
import { Decisions } from "./context/Decisions";
import { InventorySections } from "./context/InventorySections";
import { Meter } from "./context/Meter";
import { WorkerList } from "./context/WorkerList";
import { PathName } from "./PathName";
import { Fact, Section } from "./Section";

export function ContextPanel({ session }: { session: SessionView }) {
  return (
    <div className="h-full overflow-auto">
      <Section title="Context" number={session.model || session.config.model}>
        <Meter session={session} />
      </Section>
      <Section title="Spent">
        <Spent session={session} />
      </Section>
      <Decisions sessionId={session.id} />
      <InventorySections session={session} />
      <WorkerList session={session} />
      <Section title="Runtime" open={false}>
        <Config session={session} />
      </Section>
    </div>
  );
}

function Spent({ session }: { session: SessionView }) {
  const { usage, cost, turns, steps } = session;
  const { input = 0, output = 0, cache_read = 0, cache_write = 0 } = usage;
  const sent = input + cache_read + cache_write;
  const limit = session.config.max_budget_usd;
  // Empty values are the server's defaults and are not shown.
  const most = useApp((state) => session.config.max_turns ?? state.config?.default_max_turns);
  const ended = session.ended_at || serverNow() / 1000;
  return (
    <dl className="m-0">
      <Fact name="Cost">
        {money(cost)}
        {limit ? <span className="text-ink-3"> of {money(limit)}</span> : null}
      </Fact>
      <Fact name="Turns">{count(turns)}</Fact>
      <Fact name="Steps">
        {count(steps)} {most ? <span className="text-ink-3">max {count(most)} per turn</span> : null}
      </Fact>
      <Fact name="Input">{count(sent)} tokens</Fact>
      <Fact name="Output">{count(output)} tokens</Fact>
      <Fact name="Cache read">
        {sent > 0 ? `${Math.round((cache_read / sent) * 100)}%` : "0%"}
        <span className="text-ink-3"> of input</span>
      </Fact>
      {session.created_at > 0 && <Fact name="Duration">{duration((ended - session.created_at) * 1000)}</Fact>}
    </dl>
  );
}

function Config({ session }: { session: SessionView }) {
  const { config } = session;
  const listed = (names: readonly string[] | undefined) => (names?.length ? names.join(", ") : "");
  const facts: [string, string][] = [
    ["Engine", config.engine ?? "native"],
    ["Workflow", config.workflow ?? ""],
    ["Model", session.model || config.model || "the default"],
    ["Permissions", session.permission_mode],
    ["Messages", config.inputs ?? ""],
    ["Started", config.live === false ? "once for each prompt" : ""],
    ["Output", config.live === false ? (config.output_format ?? "stream-json") : ""],
    ["Retention", config.ephemeral ? "until one day after its last entry" : ""],
    ["Allowed tools", listed(config.allowed_tools)],
    ["Disallowed tools", listed(config.disallowed_tools)],
    ["System prompt", config.system_prompt ? `${count(config.system_prompt.length)} characters` : ""],
    [
      "Appended prompt",
      config.append_system_prompt ? `${count(config.append_system_prompt.length)} characters` : "",
    ],
    ["Branch", config.branch ?? ""],
    ["Base", config.base?.slice(0, 12) ?? ""],
    ["Created", session.created_at ? moment(session.created_at * 1000) : ""],
    ["Session", session.id],
  ];
  return (
    <dl className="m-0">
      <Fact name="Directory">
        <PathName path={session.cwd} />
      </Fact>
      {config.project && config.project !== session.cwd && (
        <Fact name="Project">
          <PathName path={config.project} />
        </Fact>
      )}
      {facts.map(
        ([name, value]) =>
          value && (
            <Fact key={name} name={name}>
              {value}
            </Fact>
          ),
      )}
    </dl>
  );
}
