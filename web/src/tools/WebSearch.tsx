/** WebSearch call: titles, URLs, excerpts. */
import { keyed } from "@/diff/keyed";
import { plural } from "@/format/values";
import type { ToolRow } from "@/state/rows";
import { VisibleText } from "@/ui/VisibleText";
import { fieldsOf, firstLine, hasFailed, listOf, textOf, textsOf } from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { Link } from "./parts/Link";
import { RequestField } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { Problem } from "./parts/Outcome";
import { Prose } from "./parts/Prose";
import { Stack } from "./parts/Section";
import type { CallProps, RequestProps, ToolView } from "./view";

interface Hit {
  title: string;
  address: string;
  snippet: string;
}

/** Results may be nested in lists. */
function hitsOf(row: ToolRow): Hit[] {
  const found = listOf(row.display, "results").flatMap((each) => {
    const inner = listOf(each, "content");
    return inner.length > 0 ? inner : [each];
  });
  return found
    .map((each) => ({
      title: textOf(each, "title"),
      address: textOf(each, "url"),
      snippet: textOf(each, "snippet"),
    }))
    .filter((hit) => hit.address);
}

function View({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useFullCall(row, sessionId);
  const hits = hitsOf(whole.row);
  const shown = full ? hits : hits.slice(0, 10);
  if (hasFailed(row)) return <Problem row={row} />;
  if (!row.settled) return null;
  return (
    <Stack>
      {hits.length === 0 && <Prose text={whole.row.output || "No results."} />}
      <ol className="m-0 flex list-none flex-col gap-2 p-0">
        {keyed(shown).map(({ key, item }) => (
          <li key={key} className="min-w-0">
            <Link address={item.address}>
              <VisibleText text={item.title || item.address} />
            </Link>
            <span className="block truncate text-small text-ink-3">
              <VisibleText text={item.address} />
            </span>
            {item.snippet && <span className="block wrap-anywhere text-ink-2">{item.snippet}</span>}
          </li>
        ))}
      </ol>
      {hits.length > shown.length && <p className="m-0 text-ink-3">{hits.length - shown.length} more</p>}
      <LoadAll whole={whole} />
    </Stack>
  );
}

function ApprovalRequest({ input }: RequestProps) {
  const only = textsOf(input, "allowed_domains");
  const never = textsOf(input, "blocked_domains");
  return (
    <Stack>
      <RequestField label="Search the web for" text={textOf(input, "query")} />
      {only.length > 0 && <RequestField label="Only domains" text={only.join(", ")} />}
      {never.length > 0 && <RequestField label="Excluded domains" text={never.join(", ")} />}
    </Stack>
  );
}

export const webSearch: ToolView = {
  icon: "globe",
  title: (row) => `Search the web for “${firstLine(textOf(row.input, "query"), 70)}”`,
  inline: (row) => (fieldsOf(row.display).results ? plural(hitsOf(row).length, "result") : null),
  Body: (props) => <View {...props} full={false} />,
  Full: (props) => <View {...props} full />,
  request: ApprovalRequest,
};
