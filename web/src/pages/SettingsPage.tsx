/** Settings page: one section at a time, each with its own URL. */
import { Link, useParams } from "@tanstack/react-router";
import type { ComponentType } from "react";
import { Empty } from "@/ui/Empty";
import { ErrorBoundary } from "@/ui/ErrorBoundary";
import { Page } from "./Page";
import { About } from "./settings/About";
import { Appearance } from "./settings/Appearance";
import { Audit } from "./settings/Audit";
import { Devices } from "./settings/Devices";
import { Directories } from "./settings/Directories";
import { Agents, Hooks, McpServers, Skills } from "./settings/Inventory";
import { KeyboardShortcuts } from "./settings/KeyboardShortcuts";
import { Models } from "./settings/Models";
import { NotificationsSettings } from "./settings/NotificationsSettings";
import { People } from "./settings/People";
import { Permissions } from "./settings/Permissions";

const PARTS: { group: string; parts: { part: string; label: string; Show: ComponentType }[] }[] = [
  {
    group: "Agents",
    parts: [
      { part: "models", label: "Models", Show: Models },
      { part: "permissions", label: "Permissions", Show: Permissions },
      { part: "mcp", label: "MCP servers", Show: McpServers },
      { part: "hooks", label: "Hooks", Show: Hooks },
      { part: "skills", label: "Skills", Show: Skills },
      { part: "agents", label: "Agents", Show: Agents },
    ],
  },
  {
    group: "This browser",
    parts: [
      { part: "appearance", label: "Appearance", Show: Appearance },
      { part: "keys", label: "Keyboard shortcuts", Show: KeyboardShortcuts },
      { part: "notifications", label: "Notifications", Show: NotificationsSettings },
    ],
  },
  {
    group: "Server",
    parts: [
      { part: "directories", label: "Directories", Show: Directories },
      { part: "devices", label: "Devices", Show: Devices },
      { part: "people", label: "People", Show: People },
      { part: "audit", label: "Audit", Show: Audit },
      { part: "about", label: "About", Show: About },
    ],
  },
];

export function SettingsPage() {
  const { part } = useParams({ from: "/settings/$part" });
  const found = PARTS.flatMap((group) => group.parts).find((each) => each.part === part);
  return (
    <Page title="Settings">
      <div className="flex items-start gap-8 max-md:flex-col max-md:gap-3">
        <nav
          aria-label="Settings sections"
          className="sticky top-0 w-40 shrink-0 space-y-4 max-md:static max-md:flex max-md:w-full max-md:gap-1 max-md:space-y-0 max-md:overflow-x-auto"
        >
          {PARTS.map(({ group, parts }) => (
            <div key={group} className="max-md:flex max-md:gap-1">
              <h2 className="m-0 px-2 pb-1 text-[11px] leading-4 font-semibold tracking-wide text-ink-3 uppercase max-md:hidden">
                {group}
              </h2>
              {parts.map((each) => (
                <Link
                  key={each.part}
                  to="/settings/$part"
                  params={{ part: each.part }}
                  activeProps={{ className: "bg-surface-2 text-ink-1", "aria-current": "page" }}
                  inactiveProps={{ className: "text-ink-2" }}
                  className="target flex min-h-7 items-center rounded-box px-2 whitespace-nowrap no-underline hover:text-ink-1"
                >
                  {each.label}
                </Link>
              ))}
            </div>
          ))}
        </nav>
        <div className="min-w-0 flex-1 max-md:w-full">
          <ErrorBoundary label="These settings" resetKey={part}>
            {found ? (
              <found.Show />
            ) : (
              <Empty
                title="Settings not found"
                action={
                  <Link to="/settings/$part" params={{ part: "permissions" }}>
                    Go to permissions
                  </Link>
                }
              />
            )}
          </ErrorBoundary>
        </div>
      </div>
    </Page>
  );
}
