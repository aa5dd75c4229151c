/** Everything a person can do to a session, as one function each. What fails is said in words and undone on the page. */

import { ApiProblem, api, said, wordsOf } from "@/api/client";
import type { Change, ImagePart, NewSession, SessionView, Verdict } from "@/api/types";
import { transcriptOf } from "@/stream/live";
import { toast } from "@/ui/toast";
import { putSession, useApp } from "./app";

const at = (id: string) => ({ params: { path: { id } } });

export function complain(error: unknown): void {
  toast.error(wordsOf(error));
}

export async function launch(wanted: Partial<NewSession> & { cwd: string }): Promise<SessionView> {
  const session = await said(api.POST("/sessions", { body: wanted as NewSession }));
  putSession(session);
  return session;
}

/** A scratch project with a failing test, and a session of the demo model in it. */
export async function startDemo(): Promise<SessionView> {
  const session = await said(api.POST("/demo"));
  putSession(session);
  return session;
}

/** What the page knows of the server, once more: models or directories have changed. */
export async function learnConfig(): Promise<void> {
  useApp.setState({ config: await said(api.GET("/config")) });
}

export type Delivery = "steer" | "queue" | "interrupt";

/** Messages of which nobody knows whether they arrived: said again they keep their name, and are heard once. */
const unsure = new Map<string, string>();

/** The words are on the page at once; where they could not be sent, who sent them has them back (S000-63). */
export async function send(
  id: string,
  content: string,
  images: ImagePart[],
  delivery: Delivery,
): Promise<boolean> {
  const transcript = transcriptOf(id);
  const asked = JSON.stringify([id, delivery, content, images]);
  const before = unsure.get(asked);
  // What has been heard of and is said all the same is meant to be said twice.
  const clientId = before && !transcript.hasHeard(before) ? before : crypto.randomUUID();
  unsure.delete(asked);
  transcript.sending = [...transcript.sending, { clientId, text: content }];
  transcript.tell();
  try {
    const body = { content, images, delivery, client_message_id: clientId };
    const accepted = await said(api.POST("/sessions/{id}/messages", { ...at(id), body }));
    putSession(accepted.session);
    return true;
  } catch (error) {
    if (!transcript.sending.some((each) => each.clientId === clientId)) return true; // heard of by the stream
    if (error instanceof ApiProblem && error.code === "unreachable") unsure.set(asked, clientId);
    transcript.sending = transcript.sending.filter((each) => each.clientId !== clientId);
    transcript.tell();
    complain(error);
    return false;
  }
}

async function changed(
  asked: Promise<{ data?: SessionView; error?: unknown }>,
): Promise<SessionView | undefined> {
  try {
    const session = await said(asked);
    putSession(session);
    return session;
  } catch (error) {
    complain(error);
    return undefined;
  }
}

export const interrupt = (id: string) => changed(api.POST("/sessions/{id}/interrupt", at(id)));
export const kill = (id: string) => changed(api.POST("/sessions/{id}/kill", at(id)));
export const retry = (id: string) => changed(api.POST("/sessions/{id}/retry", at(id)));
export const editInput = (id: string, input_id: string, content: string) =>
  changed(
    api.PATCH("/sessions/{id}/inputs/{input_id}", { params: { path: { id, input_id } }, body: { content } }),
  );
export const dropInput = (id: string, input_id: string) =>
  changed(api.DELETE("/sessions/{id}/inputs/{input_id}", { params: { path: { id, input_id } } }));

/** Change what is known of a session. The page shows it at once and takes it back if the server does not agree. */
export async function configure(id: string, body: Partial<Change>): Promise<SessionView | undefined> {
  const before = useApp.getState().sessions[id];
  const { title, archived, pinned } = body;
  const seen = { title, archived, pinned };
  if (before) putSession({ ...before, ...(JSON.parse(JSON.stringify(seen)) as Partial<SessionView>) });
  const after = await changed(api.PATCH("/sessions/{id}", { ...at(id), body: body as Change }));
  if (!after && before) putSession(before);
  return after;
}

export async function archive(session: SessionView): Promise<void> {
  const archived = !session.archived;
  if (!(await configure(session.id, { archived }))) return;
  toast(archived ? `Archived “${session.title || "session"}”.` : "Back from the archive.", {
    action: { label: "Undo", onClick: () => void configure(session.id, { archived: !archived }) },
  });
}

export async function remove(id: string): Promise<boolean> {
  try {
    await api.DELETE("/sessions/{id}", at(id));
    toast("Session deleted.", {
      action: { label: "Undo", onClick: () => void changed(api.POST("/trash/{id}/restore", at(id))) },
    });
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}

export async function follow(
  id: string,
  prompt: string,
  more: Record<string, unknown> = {},
): Promise<SessionView | undefined> {
  const body = { prompt, client_id: crypto.randomUUID(), ...more };
  return changed(api.POST("/sessions/{id}/continue", { ...at(id), body: body as never }));
}

export async function fork(id: string, entry: string): Promise<SessionView | undefined> {
  return changed(
    api.POST("/sessions/{id}/fork", { ...at(id), body: { at: entry, prompt: "", client_id: "" } }),
  );
}

export interface Answered {
  /** `done`: this answer counts. `late`: somebody was faster; the words say who. */
  result: "done" | "late" | "failed";
  words: string;
}

export async function decide(
  interactionId: string,
  verdict: Partial<Verdict> & Pick<Verdict, "decision" | "input_sha256">,
): Promise<Answered> {
  try {
    await said(
      api.POST("/interactions/{id}/decision", {
        params: { path: { id: interactionId } },
        body: verdict as Verdict,
      }),
    );
    return { result: "done", words: "" };
  } catch (error) {
    const late = error instanceof ApiProblem && error.code === "already_answered";
    return { result: late ? "late" : "failed", words: wordsOf(error) };
  }
}
