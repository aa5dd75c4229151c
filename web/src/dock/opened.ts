/** What exactly is asked. A stream may bring long texts cut short; nobody decides on half of something. */
import { useQuery } from "@tanstack/react-query";
import { api, said } from "@/api/client";
import type { InteractionOpened, InteractionView, SessionView } from "@/api/types";
import { useOfTranscript } from "@/state/hooks";
import type { Transcript } from "@/state/transcript";
import { CUT } from "@/stream/socket";

/** A text of this length may have been longer. */
function mayBeCut(value: unknown): boolean {
  if (typeof value === "string") return value.length >= CUT;
  if (typeof value === "object" && value !== null) return Object.values(value).some(mayBeCut);
  return false;
}

/** The whole of it, or undefined while it is on its way. */
export function useOpened(
  session: SessionView,
  interaction: InteractionView | undefined,
  transcript: Transcript,
): InteractionOpened | undefined {
  const heard = useOfTranscript(
    transcript,
    (each) => each.fold.interactions.get(interaction?.id ?? "")?.opened,
  );
  const loaded = useOfTranscript(transcript, (each) => each.state === "ready");
  const whole = heard && !mayBeCut(heard) ? heard : undefined;
  const { data } = useQuery({
    queryKey: ["interaction", interaction?.id],
    queryFn: () =>
      said(api.GET("/interactions", { params: { query: { session_id: session.id } } })).then(
        (found) => found.interactions.find((each) => each.opened.id === interaction?.id)?.opened ?? null,
      ),
    enabled: Boolean(interaction) && !whole && loaded,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return whole ?? data ?? undefined;
}
