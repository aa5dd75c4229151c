/** A search result: session, kind and excerpt. */
import { Link } from "@tanstack/react-router";
import type { SearchHit } from "@/api/types";
import { ago, moment } from "@/format/values";
import { VisibleText } from "@/ui/VisibleText";
import type { SessionSearch } from "../searchParams";
import { piecesOf } from "./marks";

const KINDS: Record<string, string> = {
  title: "Title",
  text: "Said",
  thinking: "Thought",
  call: "Call",
  result: "Result",
  artifact: "Artifact",
};

/** The link target of a search result. */
export function targetOf(hit: SearchHit): SessionSearch {
  if (hit.kind === "call" || hit.kind === "result") return { call: hit.ref };
  // A user message has one row, without a part index.
  if (hit.kind === "text" || hit.kind === "thinking") return { row: hit.ref.replace(/\/0$/, "") };
  return {};
}

interface Props {
  hit: SearchHit;
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
        search={targetOf(hit)}
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

function Excerpt({ hit }: { hit: SearchHit }) {
  let offset = 0;
  return piecesOf(hit.excerpt.text, hit.excerpt.marks).map((piece) => {
    const key = offset;
    offset += piece.text.length;
    return piece.marked ? (
      <mark key={key} className="rounded-sm bg-needs-soft font-semibold text-ink-1">
        <VisibleText text={piece.text} />
      </mark>
    ) : (
      <VisibleText key={key} text={piece.text} />
    );
  });
}
