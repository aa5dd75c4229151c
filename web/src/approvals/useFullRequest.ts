/** The full request. The stream cuts long texts, and nobody should decide on part of a request. */
import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import type { InteractionOpened, InteractionView, SessionView } from "@/api/types";
import { useOfTranscript } from "@/state/hooks";
import type { Transcript } from "@/state/transcript";

/** The full request, or undefined while it is loading. */
export function useFullRequest(
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
      unwrap(api.GET("/interactions", { params: { query: { session_id: session.id } } })).then(
        (found) => found.interactions.find((each) => each.opened.id === interaction?.id)?.opened ?? null,
      ),
    enabled: Boolean(interaction) && !whole && loaded,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return whole ?? data ?? undefined;
}
