/** Terminal text with colours, as React nodes. It contains no links: command output is not trusted. */
import "./text.css";
import Anser, { type AnserJsonEntry } from "anser";
import { type CSSProperties, memo } from "react";
import { stripEscapes } from "./terminal";

export const Ansi = memo(function Ansi({ text }: { text: string }) {
  const shown = stripEscapes(text);
  if (!shown.includes("\u001b")) return <>{shown}</>;
  let offset = 0;
  return (
    <>
      {Anser.ansiToJson(shown, { json: true, remove_empty: true, use_classes: true }).map((piece) => {
        const key = offset;
        offset += piece.content.length;
        const style = styleOf(piece);
        return style ? (
          <span key={key} style={style}>
            {piece.content}
          </span>
        ) : (
          piece.content
        );
      })}
    </>
  );
});

function styleOf(piece: AnserJsonEntry): CSSProperties | null {
  const how = new Set(piece.decorations ?? []);
  const ink = colour(piece.fg, piece.fg_truecolor);
  const ground = colour(piece.bg, piece.bg_truecolor);
  if (how.size === 0 && !ink && !ground) return null;
  const [front, back] = how.has("reverse")
    ? [ground ?? "var(--surface-1)", ink ?? "var(--ink-2)"]
    : [ink, ground];
  const lines = [how.has("underline") && "underline", how.has("strikethrough") && "line-through"].filter(
    Boolean,
  );
  return {
    ...(front ? { color: front } : {}),
    ...(back
      ? { background: how.has("reverse") ? back : `color-mix(in srgb, ${back} 30%, transparent)` }
      : {}),
    ...(how.has("bold") ? { fontWeight: 600 } : {}),
    ...(how.has("dim") ? { opacity: 0.75 } : {}),
    ...(how.has("italic") ? { fontStyle: "italic" } : {}),
    ...(lines.length > 0 ? { textDecoration: lines.join(" ") } : {}),
  };
}

/** The 16 standard colours are theme tokens; others are mixed with the text colour, to be readable in both themes. */
function colour(name: string | null, exact: string | null): string | undefined {
  if (!name) return undefined;
  if (name === "ansi-truecolor")
    return exact ? `color-mix(in oklch, rgb(${exact}) 65%, var(--ink-1))` : undefined;
  const palette = /^ansi-palette-(\d+)$/.exec(name);
  if (palette) return ofPalette(Number(palette[1]));
  return `var(--${name})`;
}

function ofPalette(number: number): string {
  if (number >= 232) return "var(--ink-2)";
  const cube = Math.max(0, number - 16);
  const level = (step: number) => (step === 0 ? 0 : 55 + step * 40);
  const [red, green, blue] = [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(level);
  return `color-mix(in oklch, rgb(${red} ${green} ${blue}) 65%, var(--ink-1))`;
}
