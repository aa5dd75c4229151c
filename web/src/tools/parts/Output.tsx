/** Output of a tool: with terminal colours if wanted, truncated if long. */
import { Ansi } from "@/text/Ansi";
import { plainText } from "@/text/terminal";
import { LongText } from "./LongText";
import { CodeGround, Section } from "./Section";

interface Props {
  text: string;
  label?: string;
  ansi?: boolean;
  /** Uses all available space. */
  full?: boolean;
}

export function Output({ text, label = "", ansi = false, full = false }: Props) {
  const trimmed = text.replace(/\n+$/, "");
  if (!trimmed) return <p className="m-0 text-ink-3">No output.</p>;
  const draw = ansi ? { draw: drawAnsi } : {};
  return (
    <Section label={label}>
      <CodeGround copied={ansi ? plainText(trimmed) : trimmed}>
        <LongText text={trimmed} most={full ? 2_000 : 40} tail={full ? 200 : 16} {...draw} />
      </CodeGround>
    </Section>
  );
}

const drawAnsi = (text: string) => <Ansi text={text} />;
