/** One place where the words were found: of which session, by whom, and a line around them. */
import { Link } from "@tanstack/react-router";
import type { Hit } from "@/api/types";
import type { SessionPlace } from "@/routes";
import { Shown } from "@/ui/Hidden";
import { ago, moment } from "@/words/format";
import { piecesOf } from "./marks";

const KINDS: Record<string, string> = {
  title: "Title",
  text: "Said",
  thinking: "Thought",
  call: "Call",
  result: "Result",
  artifact: "Artifact",
};

/** Where in the session a hit leads to. */
export function placeOf(hit: Hit): SessionPlace {
  if (hit.kind === "call" || hit.kind === "result") return { call: hit.ref };
  // The first part of a message stands for all of it: a person's has only one row.
  if (hit.kind === "text" || hit.kind === "thinking") return { row: hit.ref.replace(/\/0$/, "") };
  return {};
}

interface Props {
  hit: Hit;
  id: string;
  active: boolean;
  withSession: boolean;
  onHover: () => void;
}

export function HitLine({ hit, id, active, withSession, onHover }: Props) {
  return (
    <li id={id} data-active={active || undefined} className="scroll-my-12">
      <Link
        to="/session/$id"
        params={{ id: hit.session_id }}
        search={placeOf(hit)}
        preload={false}
        onMouseMove={onHover}
        className={`block rounded-box px-3 py-2 no-underline ${active ? "bg-surface-2" : ""}`}
      >
        <span className="flex items-baseline gap-2 text-small text-ink-3">
          {withSession && (
            <span className="min-w-0 truncate font-medium text-ink-1">{hit.session_title || "Untitled"}</span>
          )}
          <span className="shrink-0">{KINDS[hit.kind] ?? hit.kind}</span>
          {hit.stored && <span className="shrink-0">archived</span>}
          <span className="flex-1" />
          <time className="tabular shrink-0" title={moment(hit.at * 1000)}>
            {ago(hit.at)}
          </time>
        </span>
        <span className="line-clamp-3 font-mono text-code break-words whitespace-pre-wrap text-ink-2">
          {hit.excerpt.cut_before && "… "}
          <Excerpt hit={hit} />
          {hit.excerpt.cut_after && " …"}
        </span>
      </Link>
    </li>
  );
}

function Excerpt({ hit }: { hit: Hit }) {
  let place = 0;
  return piecesOf(hit.excerpt.text, hit.excerpt.marks).map((piece) => {
    const key = place;
    place += piece.text.length;
    return piece.marked ? (
      <mark key={key} className="rounded-sm bg-needs-soft font-semibold text-ink-1">
        <Shown text={piece.text} />
      </mark>
    ) : (
      <Shown key={key} text={piece.text} />
    );
  });
}
