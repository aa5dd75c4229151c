/** Words from elsewhere on the page (a comment on a line, the path of a file) put into a session's composer. */
import { draftOf, put } from "./drafts";

export function addToDraft(sessionId: string, text: string): void {
  const before = draftOf(sessionId).text;
  const gap = !before || /\s$/.test(before) ? "" : text.includes("\n") ? "\n\n" : " ";
  put(sessionId, { text: `${before}${gap}${text}` });
}
