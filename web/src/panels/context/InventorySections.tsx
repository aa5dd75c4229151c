/** Inventory of the engine in the context panel: instructions, servers, hooks, skills, tools, capabilities. */
import { errorMessage } from "@/api/client";
import type { Capabilities, Inventory, SessionView } from "@/api/types";
import { bytes } from "@/format/values";
import { useInventoryQuery } from "@/state/inventory";
import { PathName } from "../PathName";
import { Fact, Section } from "../Section";
import { McpServers } from "./McpServers";
import { Marked, Names } from "./Names";

export function InventorySections({ session }: { session: SessionView }) {
  const { data, error } = useInventoryQuery(session.id);
  if (error) return <p className="m-3 text-ink-2">{errorMessage(error)}</p>;
  if (!data) return null;
  return <InventoryDetails sessionId={session.id} around={data} />;
}

function InventoryDetails({ sessionId, around }: { sessionId: string; around: Inventory }) {
  const commands = around.commands.filter((each) => each.kind !== "skill");
  return (
    <>
      {(around.notice || around.problems.length > 0 || !around.trusted) && (
        <div className="hairline-b space-y-1 px-3 py-2 text-needs">
          {!around.trusted && (
            <p className="m-0">◆ This directory is not trusted: its configuration is listed but not used.</p>
          )}
          {around.notice && <p className="m-0">{around.notice}</p>}
          {around.problems.map((problem) => (
            <p key={problem} className="m-0">
              {problem}
            </p>
          ))}
        </div>
      )}
      {around.version && (
        <dl className="m-0">
          <Fact name="Engine version">{around.version}</Fact>
        </dl>
      )}
      <Section title="Instructions" number={around.instructions.length}>
        {around.instructions.map((file) => (
          <div key={file.path} className="flex min-h-7 items-center gap-2 px-3">
            <PathName path={file.path} className="flex-1" />
            <Marked {...file} />
            <span className="tabular shrink-0 text-small text-ink-3">{bytes(file.bytes)}</span>
          </div>
        ))}
        {around.instructions.length === 0 && (
          <p className="m-0 px-3 text-ink-3">None. Add an AGENTS.md file to give the agent instructions.</p>
        )}
      </Section>
      <McpServers sessionId={sessionId} around={around} />
      <Section title="Commands" number={commands.length} open={false}>
        <Names names={commands} />
      </Section>
      <Section title="Hooks" number={around.hooks.length} open={false}>
        {around.hooks.map((hook) => (
          <div key={`${hook.event}/${hook.matcher}/${hook.command}`} className="px-3 py-1">
            <div className="flex items-baseline gap-2">
              <span className="font-medium">{hook.event}</span>
              <span className="flex-1 text-ink-2">{hook.matcher}</span>
              <Marked {...hook} />
              {!hook.in_force && <span className="text-small text-ink-3">not active</span>}
            </div>
            <p className="m-0 font-mono text-code break-all text-ink-2">{hook.command}</p>
          </div>
        ))}
      </Section>
      <Section title="Skills" number={around.skills.length} open={false}>
        <Names names={around.skills} />
      </Section>
      <Section title="Agents" number={around.agents.length} open={false}>
        <Names names={around.agents} />
      </Section>
      <Section title="Tools" number={around.tools.length} open={false}>
        <p className="m-0 px-3 font-mono text-code break-words text-ink-2">{around.tools.join("  ")}</p>
      </Section>
      <Section title="Sandbox" number={around.sandbox.enabled ? "on" : "off"} open={false}>
        <p className="m-0 px-3 text-ink-2">
          {around.sandbox.enabled
            ? `Commands run inside ${around.sandbox.kind || "a sandbox"}.`
            : "Commands run as you, without a sandbox."}{" "}
          {around.sandbox.problem}
        </p>
      </Section>
      <CapabilityList can={around.capabilities} />
    </>
  );
}

const CAPABILITIES: [keyof Capabilities, string][] = [
  ["steer", "Steer while running"],
  ["queue", "Queue messages"],
  ["images", "Read images"],
  ["interrupt", "Interrupt"],
  ["edit_input", "Edit calls before they run"],
  ["ask_user", "Ask questions"],
  ["plan_review", "Plan review"],
  ["change_model", "Change model while running"],
  ["change_permission_mode", "Change permission mode while running"],
  ["change_workflow", "Change workflow while running"],
  ["fork", "Fork"],
  ["fork_at_message", "Fork at a message"],
  ["rewind", "Rewind"],
  ["compact", "Compact context"],
  ["terminal_resume", "Resume in a terminal"],
];

function CapabilityList({ can }: { can: Capabilities }) {
  const able = CAPABILITIES.filter(([name]) => can[name]);
  return (
    <Section title="Capabilities" number={able.length} open={false}>
      <dl className="m-0">
        {CAPABILITIES.map(([name, label]) => (
          <Fact key={name} name={can[name] ? "✓ yes" : "◦ no"}>
            <span className={can[name] ? "" : "text-ink-3"}>{label}</span>
          </Fact>
        ))}
      </dl>
    </Section>
  );
}
