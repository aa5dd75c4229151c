/** Find bar: searches a session and steps through the matches. */
import { useEffect, useRef, useState } from "react";
import { showError } from "@/state/actions";
import type { Transcript } from "@/state/transcript";
import { IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { highlightRow } from "../currentRow";
import { goTo } from "../goTo";
import type { Virtualizer } from "../scroll/virtualizer";
import { highlightMatches } from "./highlightMatches";
import { type Hit, hitsBefore, hitsHere } from "./hits";

const PAUSE = 150;

interface Props {
  transcript: Transcript;
  virtualizer: Virtualizer;
  onClose: () => void;
}

export function FindBar({ transcript, virtualizer, onClose }: Props) {
  const [query, setQuery] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const { hits, at, searching, go } = useHits(transcript, virtualizer, query.trim());
  useEffect(() => input.current?.select(), []);
  useEffect(() => {
    const { root } = virtualizer;
    return root ? highlightMatches(root, query.trim()) : undefined;
  }, [virtualizer, query]);
  useEffect(() => () => highlightRow(""), []);
  return (
    <search className="absolute top-2 right-4 z-10 flex items-center gap-1 rounded-box border border-line bg-surface-2 p-1 shadow-float max-md:inset-x-2">
      <input
        ref={input}
        type="text"
        aria-label="Search in this session"
        placeholder="Search in this session"
        value={query}
        onChange={(event) => setQuery(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
          else if (event.key === "Escape") onClose();
          else return;
          event.preventDefault();
        }}
        className="h-7 w-56 min-w-0 rounded bg-transparent px-2 outline-none placeholder:text-ink-3 max-md:flex-1"
      />
      <span role="status" className="tabular min-w-16 text-right text-small text-ink-3">
        {resultText(query.trim(), hits, at, searching)}
      </span>
      <IconButton label="Previous match" disabled={hits.length === 0} onClick={() => go(-1)}>
        <Icon name="chevronDown" className="rotate-180" />
      </IconButton>
      <IconButton label="Next match" disabled={hits.length === 0} onClick={() => go(1)}>
        <Icon name="chevronDown" />
      </IconButton>
      <IconButton label="Close search" onClick={onClose}>
        <Icon name="close" />
      </IconButton>
    </search>
  );
}

function resultText(query: string, hits: Hit[], at: number, searching: boolean): string {
  if (!query) return "";
  if (hits.length === 0) return searching ? "searching…" : "no matches";
  return `${at + 1} of ${hits.length}`;
}

function useHits(transcript: Transcript, virtualizer: Virtualizer, query: string) {
  const [hits, setHits] = useState<Hit[]>([]);
  const [at, setAt] = useState(0);
  const [searching, setSearching] = useState(false);
  useEffect(() => {
    setHits([]);
    highlightRow("");
    if (query.length < 2) return;
    let current = true;
    setSearching(true);
    const look = async () => {
      const here = await hitsHere(transcript, query, () => current);
      const before = await hitsBefore(transcript, query).catch((error: unknown) => {
        showError(error);
        return [];
      });
      if (!current) return;
      const all = [...before, ...here];
      setHits(all);
      setSearching(false);
      setAt(Math.max(0, all.length - 1));
      const last = all.at(-1);
      if (last) void goTo(transcript, virtualizer, { id: last.id, seq: last.seq, open: last.folded });
    };
    const timer = setTimeout(() => void look(), PAUSE);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [transcript, virtualizer, query]);
  const go = (by: 1 | -1) => {
    if (hits.length === 0) return;
    const next = (at + by + hits.length) % hits.length;
    setAt(next);
    const hit = hits[next];
    if (hit) void goTo(transcript, virtualizer, { id: hit.id, seq: hit.seq, open: hit.folded });
  };
  return { hits, at, searching, go };
}
