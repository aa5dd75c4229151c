/** What agents find around them in a directory: MCP servers, hooks, skills, kinds of agents. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api, said, wordsOf } from "@/api/client";
import type { Surroundings } from "@/api/types";
import { Marked } from "@/panels/context/Names";
import { Shown } from "@/ui/Hidden";
import { DirectoryChoice, useDirectory } from "./Directory";
import { None, Part, Problem, Row, Rows } from "./Part";
import { Trust } from "./Trust";

function useAround(cwd: string) {
  return useQuery({
    queryKey: ["around", cwd],
    queryFn: () => said(api.GET("/surroundings", { params: { query: { cwd } } })),
    enabled: cwd !== "",
  });
}

interface Props {
  title: string;
  about: string;
  none: ReactNode;
  rows: (around: Surroundings) => ReactNode[];
}

function AroundPart({ title, about, none, rows }: Props) {
  const cwd = useDirectory((state) => state.path);
  const { data, error } = useAround(cwd);
  const shown = data ? rows(data as Surroundings) : [];
  return (
    <Part title={title} about={about}>
      <DirectoryChoice />
      {cwd && <Trust cwd={cwd} />}
      {error && <Problem>{wordsOf(error)}</Problem>}
      {data?.problems.map((problem) => (
        <Problem key={problem}>{problem}</Problem>
      ))}
      <Rows label={title}>{shown}</Rows>
      {data && shown.length === 0 && <None>{none}</None>}
    </Part>
  );
}

function Code({ children }: { children: string }) {
  return <code className="font-mono text-code">{children}</code>;
}

export function McpServers() {
  return (
    <AroundPart
      title="MCP servers"
      about="Programs and services that give agents more tools. Each session starts its own."
      none={
        <>
          None. Put them into <Code>.mcp.json</Code> of a project, or into your settings under{" "}
          <Code>mcpServers</Code>.
        </>
      }
      rows={(around) =>
        around.mcp_servers.map((server) => (
          <Row key={`${server.level}/${server.name}`} actions={<Marked {...server} />}>
            <span className="font-medium">
              <Shown text={server.name} />
            </span>{" "}
            <span className="text-ink-3">{server.state}</span>
          </Row>
        ))
      }
    />
  );
}

export function Hooks() {
  return (
    <AroundPart
      title="Hooks"
      about="Commands that run when something happens: before and after calls of tools, at the begin and end of sessions."
      none={
        <>
          None. They are written in settings files under <Code>hooks</Code>.
        </>
      }
      rows={(around) =>
        around.hooks.map((hook) => (
          <Row
            key={`${hook.event}/${hook.matcher}/${hook.command}/${hook.level}`}
            actions={<Marked {...hook} />}
          >
            <p className="m-0">
              <span className="font-medium">{hook.event}</span>{" "}
              <span className="text-ink-2">{hook.matcher && `for ${hook.matcher}`}</span>{" "}
              {!hook.in_force && <span className="text-needs">not in force</span>}
            </p>
            <code className="font-mono text-code break-all text-ink-2">
              <Shown text={hook.command} />
            </code>
          </Row>
        ))
      }
    />
  );
}

export function Skills() {
  return (
    <AroundPart
      title="Skills"
      about="Instructions an agent reads when it needs them."
      none={
        <>
          None. A skill is a folder with a file <Code>SKILL.md</Code> in <Code>.bobstay/skills</Code>.
        </>
      }
      rows={(around) => named(around.skills)}
    />
  );
}

export function Agents() {
  return (
    <AroundPart
      title="Agents"
      about="Kinds of agents that an agent can give work to."
      none={
        <>
          None. One is a Markdown file in <Code>.bobstay/agents</Code>.
        </>
      }
      rows={(around) => named(around.agents)}
    />
  );
}

function named(names: Surroundings["skills"]): ReactNode[] {
  return names.map((each) => (
    <Row key={`${each.level}/${each.name}`} actions={<Marked {...each} />}>
      <p className="m-0 font-medium">
        <Shown text={each.name} />
      </p>
      <p className="m-0 text-ink-2">{each.description}</p>
    </Row>
  ));
}
