/** MCP servers of a session: state, source, tools, and what can be done with each. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap } from "@/api/client";
import type { Inventory, McpServer } from "@/api/types";
import { plural } from "@/format/values";
import { showError } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { useFolds } from "@/state/ui";
import { Button } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { VisibleText } from "@/ui/VisibleText";
import { PathName } from "../PathName";
import { Fact, Section } from "../Section";
import {
  connectedCount,
  isLocalConsole,
  isWebAddress,
  mainActions,
  serverActions,
  serverStyle,
} from "./mcpServers";
import { Marked } from "./Names";

export function McpServers({ sessionId, around }: { sessionId: string; around: Inventory }) {
  const servers = around.mcp_servers;
  return (
    <Section title="MCP servers" number={connectedCount(servers)} open={servers.length > 0}>
      {servers.length === 0 && (
        <p className="m-0 px-3 text-ink-3">
          None. Name them in .mcp.json of the project, or in your settings.
        </p>
      )}
      <ul className="m-0 list-none p-0">
        {servers.map((server) => (
          <Server key={server.name} server={server} sessionId={sessionId} />
        ))}
      </ul>
    </Section>
  );
}

function Server({ server, sessionId }: { server: McpServer; sessionId: string }) {
  const id = `mcp/${sessionId}/${server.name}`;
  const open = useFolds((state) => state.open[id]) ?? server.needs_approval;
  const toggle = useFolds((state) => state.toggle);
  const { shape, word, ink } = serverStyle(server);
  return (
    <li aria-label={server.name} className="pb-1">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => toggle(id, !open)}
        className="target flex min-h-7 w-full items-center gap-2 px-3 text-left hover:bg-surface-2"
      >
        <Icon name={open ? "chevronDown" : "chevronRight"} size={12} className="text-ink-3" />
        <span className="min-w-0 flex-1 truncate">
          <VisibleText text={server.name} />
        </span>
        <Marked {...server} />
        <span className={`shrink-0 text-small ${ink}`}>
          <span aria-hidden="true">{shape}</span> {word}
        </span>
      </button>
      <div className="pr-3 pl-8">
        {server.error && (
          <p
            className={`m-0 text-small break-words ${server.state === "failed" ? "text-failed" : "text-ink-2"}`}
          >
            <VisibleText text={server.error} />
          </p>
        )}
        <SignInNote server={server} />
        <Actions server={server} sessionId={sessionId} all={open} />
      </div>
      {open && <Details server={server} />}
    </li>
  );
}

function SignInNote({ server }: { server: McpServer }) {
  if (!server.sign_in || !isWebAddress(server.sign_in)) return null;
  return (
    <p role="status" className="m-0 text-small text-ink-2">
      Waiting for you to sign in.{" "}
      <a href={server.sign_in} target="_blank" rel="noopener noreferrer" className="text-accent">
        Open the sign-in page
      </a>
      {!isLocalConsole(window.location.hostname) &&
        " It works in a browser on the machine that runs the console. From elsewhere, run bobstay mcp login there."}
    </p>
  );
}

type Act = "reconnect" | "on" | "off" | "approve" | "sign-in";

function Actions({ server, sessionId, all }: { server: McpServer; sessionId: string; all: boolean }) {
  const queries = useQueryClient();
  const [busy, setBusy] = useState<Act | "">("");
  const operates = useApp((state) => hasScope(state.me, "operate"));
  const administers = useApp((state) => hasScope(state.me, "admin"));
  const can = all ? serverActions(server) : mainActions(server);
  const run = async (act: Act) => {
    setBusy(act);
    try {
      await perform(act, sessionId, server);
    } catch (error) {
      showError(error);
    }
    setBusy("");
    await queries.invalidateQueries({ queryKey: ["inventory", sessionId] });
  };
  const button = (act: Act, label: string, look: "plain" | "needs" = "plain") => (
    <Button
      look={look}
      className="h-6 px-2 text-small"
      aria-label={`${label} ${server.name}`}
      disabled={busy !== ""}
      onClick={() => void run(act)}
    >
      {label}
    </Button>
  );
  const shown = [
    administers && can.approve && button("approve", "Approve", "needs"),
    administers && can.signIn && button("sign-in", "Sign in", "needs"),
    operates && can.reconnect && button("reconnect", "Reconnect"),
    operates && can.switchOff && button("off", "Switch off"),
    operates && can.switchOn && button("on", "Switch on"),
  ].filter(Boolean);
  if (shown.length === 0) return null;
  return (
    <div className="flex flex-wrap items-center gap-1.5 pt-1">
      {shown.map((each, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the buttons have a fixed order
        <span key={index} className="contents">
          {each}
        </span>
      ))}
      {can.approve && administers && (
        <span className="min-w-0 flex-1 text-small text-ink-3">
          It starts in this project until its entry changes.
        </span>
      )}
    </div>
  );
}

async function perform(act: Act, id: string, server: McpServer): Promise<void> {
  const params = { path: { id, name: server.name } };
  if (act === "approve") {
    const body = { digest: server.digest };
    await unwrap(api.POST("/sessions/{id}/mcp-servers/{name}/approve", { params, body }));
  } else if (act === "sign-in") {
    const { address } = await unwrap(api.POST("/sessions/{id}/mcp-servers/{name}/sign-in", { params }));
    if (isWebAddress(address)) window.open(address, "_blank", "noopener,noreferrer");
  } else if (act === "reconnect") {
    await unwrap(api.POST("/sessions/{id}/mcp-servers/{name}/reconnect", { params }));
  } else {
    const body = { enabled: act === "on" };
    await unwrap(api.POST("/sessions/{id}/mcp-servers/{name}/switch", { params, body }));
  }
}

function Details({ server }: { server: McpServer }) {
  const more = [
    server.prompts > 0 ? plural(server.prompts, "prompt") : "",
    server.resources > 0 ? plural(server.resources, "resource") : "",
  ].filter(Boolean);
  return (
    <dl className="m-0 mt-1 ml-5">
      {server.target && (
        <Fact name={server.transport === "stdio" ? "Runs" : "Connects to"}>
          <code className="font-mono text-code break-all">
            <VisibleText text={server.target} />
          </code>
        </Fact>
      )}
      {server.source && (
        <Fact name="From">
          <PathName path={server.source} />
        </Fact>
      )}
      {more.length > 0 && <Fact name="Also has">{more.join(", ")}</Fact>}
      {server.tools.length > 0 && (
        <Fact name="Tools">
          <ul className="m-0 list-none p-0">
            {server.tools.map((tool) => (
              <li key={tool.name} className="truncate" title={tool.description}>
                <code className="font-mono text-code">
                  <VisibleText text={tool.name} />
                </code>{" "}
                <span className="text-small text-ink-3">
                  <VisibleText text={tool.description} />
                </span>
              </li>
            ))}
          </ul>
        </Fact>
      )}
    </dl>
  );
}
