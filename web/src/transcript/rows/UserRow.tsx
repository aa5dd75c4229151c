/** A user message, or one of the console or a hook. */
import { clock } from "@/format/values";
import type { UserRow as Row } from "@/state/rows";
import { Images } from "./Images";

const WHO: Record<Row["origin"], string> = { human: "You", harness: "The console", hook: "A hook" };

export function UserRow({ row }: { row: Row }) {
  return (
    <div className="my-2 rounded-box bg-surface-1 px-3 py-2">
      <div className="flex items-baseline gap-2 text-small text-ink-3">
        <span className="font-medium text-ink-2">{WHO[row.origin]}</span>
        {row.why && <span>{row.why}</span>}
        <time className="tabular ml-auto" dateTime={new Date(row.at).toISOString()}>
          {clock(row.at)}
        </time>
      </div>
      <MessageText text={row.text} />
      <Images images={row.images} />
    </div>
  );
}

export function MessageText({ text }: { text: string }) {
  return <p className="m-0 text-prose break-words whitespace-pre-wrap [unicode-bidi:plaintext]">{text}</p>;
}
