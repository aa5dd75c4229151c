/** Matches in a session: in the loaded rows, and, by the server's search, in earlier ones. */
import { api, unwrap } from "@/api/client";
import type { Row } from "@/state/rows";
import type { Transcript } from "@/state/transcript";

export interface Hit {
  id: string;
  seq: number;
  /** In collapsed content. */
  folded: boolean;
}

/** Milliseconds of searching per slice. */
const SLICE = 8;
const MOST = 200;

/** Loaded rows that contain the text, the oldest first. Yields to the page between slices. */
export async function hitsHere(
  transcript: Transcript,
  needle: string,
  goesOn: () => boolean,
): Promise<Hit[]> {
  const wanted = needle.toLowerCase();
  const hits: Hit[] = [];
  let until = performance.now() + SLICE;
  for (const row of transcript.fold.rows.values()) {
    if (textIn(row).some((text) => text.toLowerCase().includes(wanted)))
      hits.push({ id: row.id, seq: row.seq, folded: isFolded(row, wanted) });
    if (performance.now() < until) continue;
    await new Promise((go) => setTimeout(go));
    if (!goesOn()) return [];
    until = performance.now() + SLICE;
  }
  return hits;
}

/** Matches before the first loaded entry, from the server. */
export async function hitsBefore(transcript: Transcript, needle: string): Promise<Hit[]> {
  if (!transcript.hasOlder) return [];
  const first = transcript.entries[0]?.seq ?? 0;
  const hits = new Map<string, Hit>();
  let cursor: string | undefined;
  do {
    const query = { q: needle, session_id: transcript.id, limit: 50, ...(cursor ? { cursor } : {}) };
    const found = await unwrap(api.GET("/search", { params: { query } }));
    for (const hit of found.hits)
      if (hit.kind !== "title" && hit.seq < first)
        hits.set(hit.ref, { id: hit.ref, seq: hit.seq, folded: hit.kind !== "text" });
    cursor = found.cursor ?? undefined;
  } while (cursor && hits.size < MOST);
  return [...hits.values()].sort((a, b) => a.seq - b.seq);
}

export function textIn(row: Row): string[] {
  switch (row.kind) {
    case "tool":
      return [row.name, row.output, ...Object.values(row.input).filter((value) => typeof value === "string")];
    case "artifact":
      return [row.title, row.text];
    case "turn":
      return [row.text, row.error];
    case "unknown":
      return [row.name];
    default:
      return [row.text];
  }
}

function isFolded(row: Row, wanted: string): boolean {
  if (row.kind === "tool") return row.output.toLowerCase().includes(wanted) || !onTheLine(row.input, wanted);
  return row.kind === "thinking" || row.kind === "artifact" || row.kind === "unknown";
}

/** Short inputs are part of the line's title. */
function onTheLine(input: Record<string, unknown>, wanted: string): boolean {
  return Object.values(input).some(
    (value) => typeof value === "string" && value.length < 80 && value.toLowerCase().includes(wanted),
  );
}
