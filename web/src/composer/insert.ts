/** Adds text from elsewhere on the page (a comment, a file path) to a session's draft. */
import { draftOf, updateDraft } from "./drafts";

export function addToDraft(sessionId: string, text: string): void {
  const before = draftOf(sessionId).text;
  const gap = !before || /\s$/.test(before) ? "" : text.includes("\n") ? "\n\n" : " ";
  updateDraft(sessionId, { text: `${before}${gap}${text}` });
}
