/** Inventory of a directory: MCP servers, hooks, skills and agents. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api, errorMessage, unwrap } from "@/api/client";
import type { Inventory } from "@/api/types";
import { Marked } from "@/panels/context/Names";
import { VisibleText } from "@/ui/VisibleText";
import { DirectoryChoice, useDirectory } from "./Directory";
import { None, Problem, Row, Rows, SettingsSection } from "./SettingsSection";
import { Trust } from "./Trust";

function useInventoryOf(cwd: string) {
  return useQuery({
    queryKey: ["around", cwd],
    queryFn: () => unwrap(api.GET("/surroundings", { params: { query: { cwd } } })),
    enabled: cwd !== "",
  });
}

interface Props {
  title: string;
  about: string;
  none: ReactNode;
  rows: (around: Inventory) => ReactNode[];
}

function InventoryList({ title, about, none, rows }: Props) {
  const cwd = useDirectory((state) => state.path);
  const { data, error } = useInventoryOf(cwd);
  const shown = data ? rows(data as Inventory) : [];
  return (
    <SettingsSection title={title} about={about}>
      <DirectoryChoice />
      {cwd && <Trust cwd={cwd} />}
      {error && <Problem>{errorMessage(error)}</Problem>}
      {data?.problems.map((problem) => (
        <Problem key={problem}>{problem}</Problem>
      ))}
      <Rows label={title}>{shown}</Rows>
      {data && shown.length === 0 && <None>{none}</None>}
    </SettingsSection>
  );
}

function Code({ children }: { children: string }) {
  return <code className="font-mono text-code">{children}</code>;
}

export function McpServers() {
  return (
    <InventoryList
      title="MCP servers"
      about="Servers that provide additional tools. Each session starts its own."
      none={
        <>
          None. Add them to <Code>.mcp.json</Code> of a project, or to your settings under{" "}
          <Code>mcpServers</Code>.
        </>
      }
      rows={(around) =>
        around.mcp_servers.map((server) => (
          <Row key={`${server.level}/${server.name}`} actions={<Marked {...server} />}>
            <span className="font-medium">
              <VisibleText text={server.name} />
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
    <InventoryList
      title="Hooks"
      about="Commands that run on events: before and after tool calls, at the start and end of sessions."
      none={
        <>
          None. Add them to a settings file under <Code>hooks</Code>.
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
              {!hook.in_force && <span className="text-needs">not active</span>}
            </p>
            <code className="font-mono text-code break-all text-ink-2">
              <VisibleText text={hook.command} />
            </code>
          </Row>
        ))
      }
    />
  );
}

export function Skills() {
  return (
    <InventoryList
      title="Skills"
      about="Instructions that agents load when needed."
      none={
        <>
          None. A skill is a folder with a <Code>SKILL.md</Code> file in <Code>.bobstay/skills</Code>.
        </>
      }
      rows={(around) => named(around.skills)}
    />
  );
}

export function Agents() {
  return (
    <InventoryList
      title="Agents"
      about="Sub-agents that an agent can delegate to."
      none={
        <>
          None. An agent is a Markdown file in <Code>.bobstay/agents</Code>.
        </>
      }
      rows={(around) => named(around.agents)}
    />
  );
}

function named(names: Inventory["skills"]): ReactNode[] {
  return names.map((each) => (
    <Row key={`${each.level}/${each.name}`} actions={<Marked {...each} />}>
      <p className="m-0 font-medium">
        <VisibleText text={each.name} />
      </p>
      <p className="m-0 text-ink-2">{each.description}</p>
    </Row>
  ));
}
