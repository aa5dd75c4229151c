/** Text with invisible characters shown by name. */
import { Fragment } from "react";
import { splitInvisible } from "@/format/invisible";

export function VisibleText({ text }: { text: string }) {
  let offset = 0;
  return (
    <>
      {splitInvisible(text).map((piece) => {
        const key = offset;
        offset += piece.text.length;
        if (!piece.name) return <Fragment key={key}>{piece.text}</Fragment>;
        return (
          <mark
            key={key}
            title="Invisible character"
            className="rounded bg-needs-fill px-0.5 text-[10px] text-on-needs"
          >
            {piece.name}
          </mark>
        );
      })}
    </>
  );
}
