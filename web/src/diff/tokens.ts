/** Syntax colours of a hunk by line; none while pending, for large hunks and for plain text. */
import { useMemo } from "react";
import { baseName } from "@/format/values";
import { type Token, useTokens } from "@/text/highlight";
import type { DiffHunk, DiffLine } from "./lines";

type OfLines = ReadonlyMap<DiffLine, readonly Token[]>;

export interface Colours {
  old: OfLines;
  now: OfLines;
}

const MOST_LINES = 1_000;
const MOST_CHARACTERS = 60_000;

/** Old and new text are highlighted separately: an open string in one must not affect the other. */
export function useColours(hunk: DiffHunk, path: string): Colours | null {
  const [old, now] = useMemo(() => [sideOf(hunk, "added"), sideOf(hunk, "removed")], [hunk]);
  const language = baseName(path);
  const oldTokens = useTokens(old.text, old.changed ? language : "");
  const newTokens = useTokens(now.text, language);
  return useMemo(() => {
    if (!oldTokens && !newTokens) return null;
    return { old: joined(old.lines, oldTokens), now: joined(now.lines, newTokens) };
  }, [old, now, oldTokens, newTokens]);
}

interface Side {
  lines: DiffLine[];
  text: string;
  changed: boolean;
}

function sideOf(hunk: DiffHunk, without: DiffLine["kind"]): Side {
  const lines = hunk.lines.length > MOST_LINES ? [] : hunk.lines.filter((line) => line.kind !== without);
  const text = lines.map((line) => line.text.replace(/\r$/, "")).join("\n");
  const small = text.length <= MOST_CHARACTERS;
  return {
    lines: small ? lines : [],
    text: small ? text : "",
    changed: lines.some((line) => line.kind !== "same"),
  };
}

function joined(lines: readonly DiffLine[], tokens: Token[][] | null): OfLines {
  const made = new Map<DiffLine, readonly Token[]>();
  if (tokens) {
    lines.forEach((line, position) => {
      const found = tokens[position];
      if (found) made.set(line, found);
    });
  }
  return made;
}
