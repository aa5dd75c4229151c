/** Text in which nothing hides: characters nobody would see are shown by name. */
import { Fragment } from "react";
import { pieces } from "@/words/hidden";

export function Shown({ text }: { text: string }) {
  let place = 0;
  return (
    <>
      {pieces(text).map((piece) => {
        const key = place;
        place += piece.text.length;
        if (!piece.hidden) return <Fragment key={key}>{piece.text}</Fragment>;
        return (
          <mark
            key={key}
            title="A character that would not be seen"
            className="rounded bg-needs-fill px-0.5 text-[10px] text-on-needs"
          >
            {piece.hidden}
          </mark>
        );
      })}
    </>
  );
}
