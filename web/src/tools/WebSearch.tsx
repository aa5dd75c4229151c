/** A search in the web: titles, addresses, extracts. */
import { keyed } from "@/diff/keyed";
import type { ToolRow } from "@/state/rows";
import { Shown } from "@/ui/Hidden";
import { plural } from "@/words/format";
import { fieldsOf, firstLine, hasFailed, listOf, textOf, textsOf } from "./parts/fields";
import { Link } from "./parts/Link";
import { Asked } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { Problem } from "./parts/Outcome";
import { Prose } from "./parts/Prose";
import { Stack } from "./parts/Section";
import { useWhole } from "./parts/whole";
import type { AskProps, CallProps, ToolView } from "./view";

interface Hit {
  title: string;
  address: string;
  words: string;
}

/** Engines give hits in a list, or in lists within it. */
function hitsOf(row: ToolRow): Hit[] {
  const found = listOf(row.display, "results").flatMap((each) => {
    const inner = listOf(each, "content");
    return inner.length > 0 ? inner : [each];
  });
  return found
    .map((each) => ({
      title: textOf(each, "title"),
      address: textOf(each, "url"),
      words: textOf(each, "snippet"),
    }))
    .filter((hit) => hit.address);
}

function View({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useWhole(row, sessionId);
  const hits = hitsOf(whole.row);
  const shown = full ? hits : hits.slice(0, 10);
  if (hasFailed(row)) return <Problem row={row} />;
  if (!row.settled) return null;
  return (
    <Stack>
      {hits.length === 0 && <Prose text={whole.row.output || "Nothing was found."} />}
      <ol className="m-0 flex list-none flex-col gap-2 p-0">
        {keyed(shown).map(({ key, item }) => (
          <li key={key} className="min-w-0">
            <Link address={item.address}>
              <Shown text={item.title || item.address} />
            </Link>
            <span className="block truncate text-small text-ink-3">
              <Shown text={item.address} />
            </span>
            {item.words && <span className="block wrap-anywhere text-ink-2">{item.words}</span>}
          </li>
        ))}
      </ol>
      {hits.length > shown.length && <p className="m-0 text-ink-3">{hits.length - shown.length} more</p>}
      <LoadAll whole={whole} />
    </Stack>
  );
}

function Asks({ input }: AskProps) {
  const only = textsOf(input, "allowed_domains");
  const never = textsOf(input, "blocked_domains");
  return (
    <Stack>
      <Asked label="Search the web for" text={textOf(input, "query")} />
      {only.length > 0 && <Asked label="Only at" text={only.join(", ")} />}
      {never.length > 0 && <Asked label="Not at" text={never.join(", ")} />}
    </Stack>
  );
}

export const webSearch: ToolView = {
  icon: "globe",
  title: (row) => `Search the web for “${firstLine(textOf(row.input, "query"), 70)}”`,
  inline: (row) => (fieldsOf(row.display).results ? plural(hitsOf(row).length, "result") : null),
  Body: (props) => <View {...props} full={false} />,
  Full: (props) => <View {...props} full />,
  asks: Asks,
};
