/** How components look at a transcript: each at the row it shows, the list at the order, nobody at everything. */
import { useEffect, useSyncExternalStore } from "react";
import { transcriptOf, watch } from "@/stream/live";
import type { Row } from "./rows";
import type { Transcript } from "./transcript";

/** Follows a session while the component is there. */
export function useTranscript(id: string): Transcript {
  useEffect(() => watch(id), [id]);
  return transcriptOf(id);
}

/** Draws again when anything of the transcript but a single row changed: the list, the tasks, what is being asked. */
export function useTranscriptVersion(transcript: Transcript): number {
  return useSyncExternalStore(
    (listener) => transcript.onAny(listener),
    () => transcript.version,
  );
}

/** Something of a transcript that is compared by identity; `pick` must not make new objects. */
export function useOfTranscript<T>(transcript: Transcript, pick: (transcript: Transcript) => T): T {
  return useSyncExternalStore(
    (listener) => transcript.onAny(listener),
    () => pick(transcript),
  );
}

export function useRow(transcript: Transcript, id: string): Row | undefined {
  return useSyncExternalStore(
    (listener) => transcript.onRow(id, listener),
    () => transcript.row(id),
  );
}
