/** What is worth telling somebody who looks elsewhere. Pure: what was known before, and how it is now. */
import type { SessionView } from "@/api/types";
import { titleOf } from "./order";

export interface News {
  /** A later one with the same tag takes its place, from the page and from the push alike. */
  tag: string;
  title: string;
  body: string;
  url: string;
  /** The request it is about, if it is about one. */
  asks: string;
}

export function newsOf(before: SessionView | undefined, now: SessionView, withDone: boolean): News[] {
  if (now.archived) return [];
  const known = new Set(before?.interactions.map((each) => each.id));
  const news: News[] = now.interactions
    .filter((each) => !known.has(each.id))
    .map((each) => ({
      tag: `request-${each.id}`,
      title: titleOf(now),
      body:
        each.kind === "question"
          ? "A question for you."
          : each.kind === "plan"
            ? "A plan waits for your review."
            : `${each.tool} needs your permission.`,
      url: `/session/${now.id}?ask=${encodeURIComponent(each.id)}`,
      asks: each.id,
    }));
  const ended = before !== undefined && before.status !== now.status;
  if (ended && (now.status === "failed" || (now.status === "completed" && withDone))) {
    const body = now.status === "failed" ? "It failed. Open it to see why." : "Done.";
    news.push({ tag: `session-${now.id}`, title: titleOf(now), body, url: `/session/${now.id}`, asks: "" });
  }
  return news;
}

/** How many wait, and where one is: several tabs are told apart by it. */
export function pageTitle(waiting: number, place: string): string {
  const here = place ? `${place} · bobstay` : "bobstay";
  return waiting > 0 ? `(${waiting}) ${here}` : here;
}
