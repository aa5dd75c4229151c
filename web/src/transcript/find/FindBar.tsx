/** Search within a session: a bar that counts what it finds and goes from one to the next. */
import { useEffect, useRef, useState } from "react";
import { complain } from "@/state/actions";
import type { Transcript } from "@/state/transcript";
import { IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { mark } from "../current";
import { goTo } from "../goTo";
import type { Reading } from "../scroll/reading";
import { type Hit, hitsBefore, hitsHere } from "./hits";
import { paint } from "./paint";

const PAUSE = 150;

interface Props {
  transcript: Transcript;
  reading: Reading;
  onClose: () => void;
}

export function FindBar({ transcript, reading, onClose }: Props) {
  const [words, setWords] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const { hits, at, searching, go } = useHits(transcript, reading, words.trim());
  useEffect(() => input.current?.select(), []);
  useEffect(() => {
    const { root } = reading;
    return root ? paint(root, words.trim()) : undefined;
  }, [reading, words]);
  useEffect(() => () => mark(""), []);
  return (
    <search className="absolute top-2 right-4 z-10 flex items-center gap-1 rounded-box border border-line bg-surface-2 p-1 shadow-float max-md:inset-x-2">
      <input
        ref={input}
        type="text"
        aria-label="Search in this session"
        placeholder="Search in this session"
        value={words}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
          else if (event.key === "Escape") onClose();
          else return;
          event.preventDefault();
        }}
        className="h-7 w-56 min-w-0 rounded bg-transparent px-2 outline-none placeholder:text-ink-3 max-md:flex-1"
      />
      <span role="status" className="tabular min-w-16 text-right text-small text-ink-3">
        {standing(words.trim(), hits, at, searching)}
      </span>
      <IconButton label="The one before" disabled={hits.length === 0} onClick={() => go(-1)}>
        <Icon name="chevronDown" className="rotate-180" />
      </IconButton>
      <IconButton label="The next one" disabled={hits.length === 0} onClick={() => go(1)}>
        <Icon name="chevronDown" />
      </IconButton>
      <IconButton label="End the search" onClick={onClose}>
        <Icon name="close" />
      </IconButton>
    </search>
  );
}

function standing(words: string, hits: Hit[], at: number, searching: boolean): string {
  if (!words) return "";
  if (hits.length === 0) return searching ? "searching" : "nothing found";
  return `${at + 1} of ${hits.length}`;
}

function useHits(transcript: Transcript, reading: Reading, words: string) {
  const [hits, setHits] = useState<Hit[]>([]);
  const [at, setAt] = useState(0);
  const [searching, setSearching] = useState(false);
  useEffect(() => {
    setHits([]);
    mark("");
    if (words.length < 2) return;
    let current = true;
    setSearching(true);
    const look = async () => {
      const here = await hitsHere(transcript, words, () => current);
      const before = await hitsBefore(transcript, words).catch((error: unknown) => {
        complain(error);
        return [];
      });
      if (!current) return;
      const all = [...before, ...here];
      setHits(all);
      setSearching(false);
      setAt(Math.max(0, all.length - 1));
      const last = all.at(-1);
      if (last) void goTo(transcript, reading, { id: last.id, seq: last.seq, open: last.folded });
    };
    const timer = setTimeout(() => void look(), PAUSE);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [transcript, reading, words]);
  const go = (by: 1 | -1) => {
    if (hits.length === 0) return;
    const next = (at + by + hits.length) % hits.length;
    setAt(next);
    const hit = hits[next];
    if (hit) void goTo(transcript, reading, { id: hit.id, seq: hit.seq, open: hit.folded });
  };
  return { hits, at, searching, go };
}
