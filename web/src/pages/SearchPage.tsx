/** Full-text search in all sessions or in one. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type KeyboardEvent, useEffect, useId, useMemo, useState } from "react";
import { api, errorMessage, unwrap } from "@/api/client";
import type { SearchHit } from "@/api/types";
import { plural } from "@/format/values";
import { useDebounced } from "@/panels/files/Filter";
import { useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { Icon } from "@/ui/Icon";
import { Page } from "./Page";
import { HitLine, targetOf } from "./search/HitLine";

const PAGE = 30;
const CALM = 200;

export function SearchPage() {
  const { q = "" } = useSearch({ from: "/search" });
  const navigate = useNavigate();
  const [query, setQuery] = useState(q);
  const [session, setSession] = useState("");
  const asked = useDebounced(query.trim(), CALM);
  const found = useFound(asked, session);
  const hits = useMemo(
    () => (found.data?.pages.flatMap((page) => page.hits) ?? []) as SearchHit[],
    [found.data],
  );
  const [at, setAt] = useState(0);
  const id = useId();
  // The query is kept in the URL, so that Back returns to it.
  useEffect(() => {
    void navigate({ to: "/search", search: asked ? { q: asked } : {}, replace: true });
    setAt(0);
  }, [asked, navigate]);
  const key = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const hit = hits[at];
    if (step) {
      const next = Math.max(0, Math.min(hits.length - 1, at + step));
      setAt(next);
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: "nearest" });
      if (next > hits.length - 5 && found.hasNextPage && !found.isFetching) void found.fetchNextPage();
    } else if (event.key === "Enter" && hit) {
      void navigate({ to: "/session/$id", params: { id: hit.session_id }, search: targetOf(hit) });
    } else return;
    event.preventDefault();
  };
  return (
    <Page title="Search">
      <div className="mx-auto max-w-[820px]">
        <div className="flex h-9 items-center gap-2 rounded-box border border-line-strong bg-surface-1 px-3 focus-within:border-accent max-md:h-11">
          <Icon name="search" className="text-ink-3" />
          <input
            type="search"
            role="combobox"
            aria-label="Search all sessions"
            aria-expanded={hits.length > 0}
            aria-controls={`${id}-list`}
            aria-activedescendant={hits[at] ? `${id}-${at}` : undefined}
            placeholder="Search terms, or “an exact phrase”"
            // biome-ignore lint/a11y/noAutofocus: the page is for typing
            autoFocus
            maxLength={1000}
            value={query}
            onChange={(event) => setQuery(event.target.value)}
            onKeyDown={key}
            className="h-full min-w-0 flex-1 bg-transparent outline-none"
          />
        </div>
        <Narrow session={session} onChange={setSession} hits={hits} />
        <Hits
          id={id}
          asked={asked}
          hits={hits}
          at={at}
          onHover={setAt}
          problem={found.error ? errorMessage(found.error) : ""}
          withSession={!session}
          settled={found.isFetched && !found.isFetching}
        />
        {found.hasNextPage && (
          <div className="p-3">
            <Button disabled={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
              Show more
            </Button>
          </div>
        )}
      </div>
    </Page>
  );
}

function useFound(asked: string, session: string) {
  return useInfiniteQuery({
    queryKey: ["search", asked, session],
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET("/search", {
          params: { query: { q: asked, session_id: session, cursor: pageParam, limit: PAGE } },
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.cursor || undefined,
    enabled: asked.length > 0,
    placeholderData: (before) => before,
  });
}

/** Narrows the results to one session. */
function Narrow({
  session,
  onChange,
  hits,
}: {
  session: string;
  onChange: (id: string) => void;
  hits: readonly SearchHit[];
}) {
  const known = useApp((state) => state.sessions);
  const names = useMemo(() => {
    const found = new Map<string, string>();
    for (const hit of hits) found.set(hit.session_id, hit.session_title || "Untitled");
    if (session && !found.has(session)) found.set(session, known[session]?.title || "Untitled");
    return [...found];
  }, [hits, session, known]);
  if (names.length < 2 && !session) return null;
  return (
    <div className="mt-2 flex items-center gap-2 text-ink-2">
      <label htmlFor="search-in">In</label>
      <select
        id="search-in"
        value={session}
        onChange={(event) => onChange(event.target.value)}
        className="h-7 max-w-80 min-w-0 rounded-box border border-line bg-surface-1 px-1 max-md:h-11"
      >
        <option value="">all sessions</option>
        {names.map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}

interface HitsProps {
  id: string;
  asked: string;
  hits: readonly SearchHit[];
  at: number;
  onHover: (at: number) => void;
  problem: string;
  withSession: boolean;
  settled: boolean;
}

function Hits({ id, asked, hits, at, onHover, problem, withSession, settled }: HitsProps) {
  if (problem) return <Empty title="The search failed">{problem}</Empty>;
  if (!asked)
    return (
      <Empty title="Search all sessions">
        Prompts, responses, thinking, commands and their output. All terms must occur; the end of a word may
        be left out. Arrow keys choose, Enter opens the result.
      </Empty>
    );
  if (hits.length === 0)
    return settled ? <Empty title="No results">Try fewer words, or the beginning of a word.</Empty> : null;
  return (
    <>
      <p role="status" className="sr-only">
        {plural(hits.length, "result")}
      </p>
      <ul id={`${id}-list`} aria-label="Search results" className="m-0 mt-2 list-none p-0">
        {hits.map((hit, index) => (
          <HitLine
            key={`${hit.session_id}/${hit.kind}/${hit.ref}/${hit.seq}`}
            id={`${id}-${index}`}
            hit={hit}
            active={index === at}
            withSession={withSession}
            onHover={() => onHover(index)}
          />
        ))}
      </ul>
    </>
  );
}
