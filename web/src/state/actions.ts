/** The actions people take on sessions. Failures show a toast and are undone on the page. */
import { ApiError, api, errorMessage, unwrap } from "@/api/client";
import type { DecisionBody, ImagePart, NewSession, SessionChange, SessionView } from "@/api/types";
import { transcriptOf } from "@/stream/connection";
import { toast } from "@/ui/toast";
import { putSession, useApp } from "./app";

const at = (id: string) => ({ params: { path: { id } } });

export function showError(error: unknown): void {
  toast.error(errorMessage(error));
}

export async function createSession(wanted: Partial<NewSession> & { cwd: string }): Promise<SessionView> {
  const session = await unwrap(api.POST("/sessions", { body: wanted as NewSession }));
  putSession(session);
  return session;
}

/** Creates a scratch project with a failing test, and a session with the demo model in it. */
export async function startDemo(): Promise<SessionView> {
  const session = await unwrap(api.POST("/demo"));
  putSession(session);
  return session;
}

/** Loads the server's configuration again, after models or directories changed. */
export async function reloadConfig(): Promise<void> {
  useApp.setState({ config: await unwrap(api.GET("/config")) });
}

export type Delivery = "steer" | "queue" | "interrupt";

/** Messages that may or may not have arrived: sent again, they keep their client id, so the server takes them once. */
const unconfirmed = new Map<string, string>();

/** Shows the message at once; if sending fails, the caller gets it back. */
export async function send(
  id: string,
  content: string,
  images: ImagePart[],
  delivery: Delivery,
): Promise<boolean> {
  const transcript = transcriptOf(id);
  const asked = JSON.stringify([id, delivery, content, images]);
  const before = unconfirmed.get(asked);
  // A message that has arrived and is sent again is meant to be sent twice.
  const clientId = before && !transcript.hasReceived(before) ? before : crypto.randomUUID();
  unconfirmed.delete(asked);
  transcript.sending = [...transcript.sending, { clientId, text: content }];
  transcript.notify();
  try {
    const body = { content, images, delivery, client_message_id: clientId, sender: "" };
    const accepted = await unwrap(api.POST("/sessions/{id}/messages", { ...at(id), body }));
    putSession(accepted.session);
    return true;
  } catch (error) {
    if (!transcript.sending.some((each) => each.clientId === clientId)) return true; // it has arrived, the stream says so
    if (error instanceof ApiError && error.code === "unreachable") unconfirmed.set(asked, clientId);
    transcript.sending = transcript.sending.filter((each) => each.clientId !== clientId);
    transcript.notify();
    showError(error);
    return false;
  }
}

async function applySession(
  asked: Promise<{ data?: SessionView; error?: unknown }>,
): Promise<SessionView | undefined> {
  try {
    const session = await unwrap(asked);
    putSession(session);
    return session;
  } catch (error) {
    showError(error);
    return undefined;
  }
}

export const interrupt = (id: string) => applySession(api.POST("/sessions/{id}/interrupt", at(id)));
export const kill = (id: string) => applySession(api.POST("/sessions/{id}/kill", at(id)));
export const retry = (id: string) => applySession(api.POST("/sessions/{id}/retry", at(id)));
export const editInput = (id: string, input_id: string, content: string) =>
  applySession(
    api.PATCH("/sessions/{id}/inputs/{input_id}", { params: { path: { id, input_id } }, body: { content } }),
  );
export const dropInput = (id: string, input_id: string) =>
  applySession(api.DELETE("/sessions/{id}/inputs/{input_id}", { params: { path: { id, input_id } } }));
export const stopBackground = (id: string, background_id: string) =>
  applySession(
    api.POST("/sessions/{id}/background/{background_id}/stop", { params: { path: { id, background_id } } }),
  );

/** Changes a session. The page shows the change at once and reverts it if the server refuses. */
export async function configure(id: string, body: Partial<SessionChange>): Promise<SessionView | undefined> {
  const before = useApp.getState().sessions[id];
  const { title, archived, pinned } = body;
  const seen = { title, archived, pinned };
  if (before) putSession({ ...before, ...(JSON.parse(JSON.stringify(seen)) as Partial<SessionView>) });
  const after = await applySession(api.PATCH("/sessions/{id}", { ...at(id), body: body as SessionChange }));
  if (!after && before) putSession(before);
  return after;
}

export async function archive(session: SessionView): Promise<void> {
  const archived = !session.archived;
  if (!(await configure(session.id, { archived }))) return;
  toast(archived ? `Archived “${session.title || "session"}”.` : "Restored from the archive.", {
    action: { label: "Undo", onClick: () => void configure(session.id, { archived: !archived }) },
  });
}

export async function remove(id: string): Promise<boolean> {
  try {
    await api.DELETE("/sessions/{id}", at(id));
    toast("Session deleted.", {
      action: { label: "Undo", onClick: () => void applySession(api.POST("/trash/{id}/restore", at(id))) },
    });
    return true;
  } catch (error) {
    showError(error);
    return false;
  }
}

export async function continueSession(
  id: string,
  prompt: string,
  more: Record<string, unknown> = {},
): Promise<SessionView | undefined> {
  const body = { prompt, client_id: crypto.randomUUID(), ...more };
  return applySession(api.POST("/sessions/{id}/continue", { ...at(id), body: body as never }));
}

export async function fork(id: string, entry: string): Promise<SessionView | undefined> {
  return applySession(
    api.POST("/sessions/{id}/fork", { ...at(id), body: { at: entry, prompt: "", client_id: "" } }),
  );
}

export interface DecisionResult {
  /** `done`: the answer was accepted. `late`: somebody answered first; `message` says who. */
  result: "done" | "late" | "failed";
  message: string;
}

export async function decide(
  interactionId: string,
  body: Partial<DecisionBody> & Pick<DecisionBody, "decision" | "input_sha256">,
): Promise<DecisionResult> {
  try {
    await unwrap(
      api.POST("/interactions/{id}/decision", {
        params: { path: { id: interactionId } },
        body: body as DecisionBody,
      }),
    );
    return { result: "done", message: "" };
  } catch (error) {
    const late = error instanceof ApiError && error.code === "already_answered";
    return { result: late ? "late" : "failed", message: errorMessage(error) };
  }
}
