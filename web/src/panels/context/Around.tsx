/** What the engine has around it: instructions, servers, hooks, skills, agents, sandbox, and what can be done with it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { api, said, wordsOf } from "@/api/client";
import type { Capabilities, SessionView, Surroundings } from "@/api/types";
import { bytes, plural } from "@/words/format";
import { PathName } from "../PathName";
import { Fact, Section } from "../Section";
import { Marked, Names } from "./Names";

export function Around({ session }: { session: SessionView }) {
  const queries = useQueryClient();
  // The same key as everywhere: asked for once.
  const { data, error } = useQuery({
    queryKey: ["surroundings", session.id],
    queryFn: () => said(api.GET("/sessions/{id}/surroundings", { params: { path: { id: session.id } } })),
    staleTime: 60_000,
  });
  const shape = session.workers.map((each) => `${each.id}/${each.epoch}/${each.state}`).join(" ");
  const before = useRef(shape);
  useEffect(() => {
    if (before.current === shape) return;
    before.current = shape;
    void queries.invalidateQueries({ queryKey: ["surroundings", session.id] });
  }, [shape, session.id, queries]);
  if (error) return <p className="m-3 text-ink-2">{wordsOf(error)}</p>;
  if (!data) return null;
  return <Everything around={data} />;
}

function Everything({ around }: { around: Surroundings }) {
  return (
    <>
      {(around.notice || around.problems.length > 0 || !around.trusted) && (
        <div className="hairline-b space-y-1 px-3 py-2 text-needs">
          {!around.trusted && (
            <p className="m-0">◆ This directory is not trusted: what it brings is listed, and not run.</p>
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
          <p className="m-0 px-3 text-ink-3">
            None. A file AGENTS.md in the directory is given to the agent with every prompt.
          </p>
        )}
      </Section>
      <McpServers around={around} />
      <Section title="Hooks" number={around.hooks.length} open={false}>
        {around.hooks.map((hook) => (
          <div key={`${hook.event}/${hook.matcher}/${hook.command}`} className="px-3 py-1">
            <div className="flex items-baseline gap-2">
              <span className="font-medium">{hook.event}</span>
              <span className="flex-1 text-ink-2">{hook.matcher}</span>
              <Marked {...hook} />
              {!hook.in_force && <span className="text-small text-ink-3">not in force</span>}
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
      <Abilities can={around.capabilities} />
    </>
  );
}

const STATES: Record<string, string> = {
  connected: "text-done",
  running: "text-done",
  failed: "text-failed",
  error: "text-failed",
  needs_auth: "text-needs",
};

function McpServers({ around }: { around: Surroundings }) {
  return (
    <Section title="MCP servers" number={around.mcp_servers.length} open={around.mcp_servers.length > 0}>
      {around.mcp_servers.map((server) => (
        <div key={server.name} className="flex min-h-7 items-center gap-2 px-3">
          <span className="min-w-0 flex-1 truncate">{server.name}</span>
          <Marked {...server} />
          <span className={`shrink-0 text-small ${STATES[server.state] ?? "text-ink-3"}`}>
            {server.state}
          </span>
        </div>
      ))}
    </Section>
  );
}

const ABILITIES: [keyof Capabilities, string][] = [
  ["steer", "Be spoken to while it works"],
  ["queue", "Take messages for later"],
  ["images", "See pictures"],
  ["interrupt", "Be stopped"],
  ["edit_input", "Have a call changed before it runs"],
  ["ask_user", "Ask questions"],
  ["plan_review", "Have its plan reviewed"],
  ["change_model", "Change the model midway"],
  ["change_permission_mode", "Change the permission mode midway"],
  ["change_workflow", "Change the workflow midway"],
  ["fork", "Be forked"],
  ["fork_at_message", "Be forked at a message"],
  ["rewind", "Be rewound"],
  ["compact", "Have its context made shorter"],
  ["terminal_resume", "Go on in a terminal"],
];

function Abilities({ can }: { can: Capabilities }) {
  const able = ABILITIES.filter(([name]) => can[name]);
  return (
    <Section title="What this session can" number={plural(able.length, "thing")} open={false}>
      <dl className="m-0">
        {ABILITIES.map(([name, words]) => (
          <Fact key={name} name={can[name] ? "✓ yes" : "◦ no"}>
            <span className={can[name] ? "" : "text-ink-3"}>{words}</span>
          </Fact>
        ))}
      </dl>
    </Section>
  );
}
