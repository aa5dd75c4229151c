/** Hooks to observe a transcript: a row, a selected value, or its version. */
import { useEffect, useSyncExternalStore } from "react";
import { transcriptOf, watch } from "@/stream/connection";
import type { Row } from "./rows";
import type { Transcript } from "./transcript";

/** Subscribes to a session while the component is mounted. */
export function useTranscript(id: string): Transcript {
  useEffect(() => watch(id), [id]);
  return transcriptOf(id);
}

/** Renders again when anything but a single row changed: the list, the tasks, the activity. */
export function useTranscriptVersion(transcript: Transcript): number {
  return useSyncExternalStore(
    (listener) => transcript.subscribe(listener),
    () => transcript.version,
  );
}

/** A value of a transcript, compared by identity; `pick` must not create objects. */
export function useOfTranscript<T>(transcript: Transcript, pick: (transcript: Transcript) => T): T {
  return useSyncExternalStore(
    (listener) => transcript.subscribe(listener),
    () => pick(transcript),
  );
}

export function useRow(transcript: Transcript, id: string): Row | undefined {
  return useSyncExternalStore(
    (listener) => transcript.subscribeRow(id, listener),
    () => transcript.row(id),
  );
}
