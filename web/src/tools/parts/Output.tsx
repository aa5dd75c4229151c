/** What a tool printed: with its colours if it is a terminal's, in part if it is long. */
import { Ansi } from "@/text/Ansi";
import { plain } from "@/text/terminal";
import { LongText } from "./LongText";
import { Ground, Section } from "./Section";

interface Props {
  text: string;
  label?: string;
  ansi?: boolean;
  /** With all the room there is. */
  full?: boolean;
}

export function Output({ text, label = "", ansi = false, full = false }: Props) {
  const words = text.replace(/\n+$/, "");
  if (!words) return <p className="m-0 text-ink-3">No output.</p>;
  const draw = ansi ? { draw: drawAnsi } : {};
  return (
    <Section label={label}>
      <Ground copied={ansi ? plain(words) : words}>
        <LongText text={words} most={full ? 2_000 : 40} tail={full ? 200 : 16} {...draw} />
      </Ground>
    </Section>
  );
}

const drawAnsi = (text: string) => <Ansi text={text} />;
