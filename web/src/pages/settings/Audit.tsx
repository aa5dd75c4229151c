/** Audit log, newest first. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, errorMessage, unwrap } from "@/api/client";
import type { AuditEntry } from "@/api/types";
import { moment } from "@/format/values";
import { useDebounced } from "@/panels/files/Filter";
import { hasScope, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { INPUT } from "@/ui/Field";
import { VisibleText } from "@/ui/VisibleText";
import { None, Problem, SettingsSection } from "./SettingsSection";

export function Audit() {
  const admin = useApp((state) => hasScope(state.me, "admin"));
  const [who, setWho] = useState("");
  const [what, setWhat] = useState("");
  const calmWho = useDebounced(who.trim(), 250);
  const calmWhat = useDebounced(what.trim(), 250);
  return (
    <SettingsSection
      title="Audit"
      about="Decisions, sign-ins and revocations, changes of rules and users. Contains no secrets."
    >
      {!admin && <None>Only administrators can see the audit log.</None>}
      {admin && (
        <>
          <div className="flex max-w-[560px] gap-2">
            <input
              aria-label="Actor"
              placeholder="Actor"
              value={who}
              onChange={(event) => setWho(event.target.value)}
              className={INPUT}
            />
            <input
              aria-label="Action"
              placeholder="Action, such as auth.code_made"
              value={what}
              onChange={(event) => setWhat(event.target.value)}
              className={INPUT}
            />
          </div>
          <Trail who={calmWho} what={calmWhat} />
        </>
      )}
    </SettingsSection>
  );
}

function Trail({ who, what }: { who: string; what: string }) {
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["audit", who, what],
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET("/audit", {
          params: { query: { who, what, limit: 100, ...(pageParam ? { before: pageParam } : {}) } },
        }),
      ),
    initialPageParam: 0,
    getNextPageParam: (page) => page.before ?? undefined,
    staleTime: 0,
  });
  const entries = data?.pages.flatMap((page) => page.entries) ?? [];
  if (error) return <Problem>{errorMessage(error)}</Problem>;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard */}
      <div tabIndex={0} className="overflow-x-auto">
        <table aria-label="Audit" className="w-full border-collapse">
          <thead>
            <tr className="text-left text-small text-ink-3">
              {["When", "Who", "What", "About"].map((name) => (
                <th key={name} className="hairline-b h-7 pr-4 font-normal">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {entries.map((entry) => (
              <Line key={entry.id} entry={entry} />
            ))}
          </tbody>
        </table>
      </div>
      {data && entries.length === 0 && <None>No matching entries.</None>}
      {hasNextPage && (
        <Button disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show older
        </Button>
      )}
    </>
  );
}

function Line({ entry }: { entry: AuditEntry }) {
  const detail = JSON.stringify(entry.detail);
  return (
    <tr className="align-baseline hover:bg-surface-2">
      <td className="tabular h-8 pr-4 whitespace-nowrap text-ink-2">{moment(entry.at * 1000)}</td>
      <td className="max-w-40 truncate pr-4">
        <VisibleText text={entry.who} />
      </td>
      <td className="pr-4 whitespace-nowrap">{entry.what}</td>
      <td className="max-w-96 min-w-40 font-mono text-small break-all text-ink-3">
        {entry.session_id && (
          <Link to="/session/$id" params={{ id: entry.session_id }} className="text-accent underline">
            {entry.session_id.slice(0, 8)}
          </Link>
        )}{" "}
        <VisibleText text={detail === "{}" ? "" : detail} />
      </td>
    </tr>
  );
}
