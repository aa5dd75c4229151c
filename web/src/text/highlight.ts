/** Syntax highlighting in a worker: plain text until the result arrives, then cached. */
import { useEffect, useState } from "react";
import { scriptUrl } from "@/api/trustedTypes";
import type { HighlightRequest, HighlightResult } from "./highlight.worker";
import address from "./highlight.worker?worker&url";

export interface Token {
  text: string;
  /** A CSS colour for both themes; empty for plain text. */
  color: string;
}

/** Longer texts stay plain. */
const MOST = 300_000;
const REMEMBERED = 120;

const known = new Map<string, Token[][] | null>();
const waiting = new Map<string, { id: number; tell: Set<() => void> }>();
const byId = new Map<number, string>();
let worker: Worker | null = null;
let count = 0;

function start(): Worker {
  const made = new Worker(scriptUrl(address), { type: "module" });
  made.onmessage = ({ data }: MessageEvent<HighlightResult>) => settle(data.id, data.lines);
  made.onerror = () => {
    for (const id of [...byId.keys()]) settle(id, null);
  };
  return made;
}

function settle(id: number, lines: string[][] | null): void {
  const key = byId.get(id);
  if (key === undefined) return;
  byId.delete(id);
  known.set(key, lines?.map(tokensOf) ?? null);
  for (const old of known.keys()) {
    if (known.size <= REMEMBERED) break;
    known.delete(old);
  }
  const asked = waiting.get(key);
  waiting.delete(key);
  for (const tell of asked?.tell ?? []) tell();
}

function tokensOf(line: string[]): Token[] {
  const tokens: Token[] = [];
  for (let position = 0; position + 1 < line.length; position += 2)
    tokens.push({ text: line[position] as string, color: line[position + 1] as string });
  return tokens;
}

function ask(key: string, text: string, language: string, tell: () => void): () => void {
  let asked = waiting.get(key);
  if (!asked) {
    count += 1;
    asked = { id: count, tell: new Set() };
    waiting.set(key, asked);
    byId.set(count, key);
    worker ??= start();
    worker.postMessage({ id: count, text, language } satisfies HighlightRequest);
  }
  asked.tell.add(tell);
  return () => asked.tell.delete(tell);
}

/** The tokens of each line; null while pending or for unknown languages. */
export function useTokens(text: string, language: string): Token[][] | null {
  const name = languageOf(language);
  const wanted = name !== "" && text.length <= MOST;
  const key = wanted ? `${name}\n${text}` : "";
  const [, draw] = useState(0);
  useEffect(() => {
    if (!key || known.has(key)) return;
    return ask(key, text, name, () => draw((drawn) => drawn + 1));
  }, [key, text, name]);
  return known.get(key) ?? null;
}

/** The language of a fence's info string or of a file name. */
export function languageOf(name: string): string {
  const word =
    name
      .trim()
      .toLowerCase()
      .split(/[\s,{:]/)[0] ?? "";
  return (word.includes(".") ? word.slice(word.lastIndexOf(".") + 1) : word).replace(/[^a-z0-9+#-]/g, "");
}
