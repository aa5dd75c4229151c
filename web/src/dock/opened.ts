/** What exactly is asked. A stream may bring long texts cut short; nobody decides on half of something. */
import { useQuery } from "@tanstack/react-query";
import { api, said } from "@/api/client";
import type { InteractionOpened, InteractionView, SessionView } from "@/api/types";
import { useOfTranscript } from "@/state/hooks";
import type { Transcript } from "@/state/transcript";

/** The whole of it, or undefined while it is on its way. */
export function useOpened(
  session: SessionView,
  interaction: InteractionView | undefined,
  transcript: Transcript,
): InteractionOpened | undefined {
  const whole = useOfTranscript(transcript, (each) => {
    const state = each.fold.interactions.get(interaction?.id ?? "");
    return state?.cut ? undefined : state?.opened;
  });
  const loaded = useOfTranscript(transcript, (each) => each.state === "ready");
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
