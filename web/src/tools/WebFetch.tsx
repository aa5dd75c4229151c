/** A page of the web that was read. */
import type { ToolRow } from "@/state/rows";
import { hostOf } from "@/text/links";
import { bytes } from "@/words/format";
import { firstLine, hasFailed, numberOf, textOf } from "./parts/fields";
import { Link } from "./parts/Link";
import { Asked, Literal } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { Problem } from "./parts/Outcome";
import { Pictures } from "./parts/Pictures";
import { Prose } from "./parts/Prose";
import { Section, Sheet, Stack } from "./parts/Section";
import { useWhole } from "./parts/whole";
import type { AskProps, CallProps, ToolView } from "./view";

function url(row: ToolRow): string {
  return textOf(row.input, "url");
}

function inline(row: ToolRow): string {
  const size = numberOf(row.display, "bytes");
  return [textOf(row.display, "code"), size !== null ? bytes(size) : ""].filter(Boolean).join(" · ");
}

function View({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useWhole(row, sessionId);
  const call = whole.row;
  const asked = textOf(call.input, "prompt");
  const final = textOf(call.display, "url");
  return (
    <Stack>
      <p className="m-0">
        <Link address={url(call)} />
        {final && final !== url(call) && (
          <>
            {" "}
            moved to <Link address={final} />
          </>
        )}
      </p>
      {asked && <Asked label="Wanted" text={asked} />}
      {hasFailed(call) ? (
        <Problem row={call} />
      ) : (
        call.settled && (
          <Section label="">
            <Sheet copied={call.output}>
              <Prose text={textOf(call.display, "result") || call.output} most={full ? 1_000 : 30} />
            </Sheet>
          </Section>
        )
      )}
      <Pictures pictures={call.pictures} />
      <LoadAll whole={whole} />
    </Stack>
  );
}

function Asks({ input }: AskProps) {
  return (
    <Stack>
      <Literal label="Address" text={textOf(input, "url")} />
      {textOf(input, "prompt") && <Asked label="To find out" text={textOf(input, "prompt")} />}
    </Stack>
  );
}

export const webFetch: ToolView = {
  icon: "globe",
  title: (row) =>
    `Fetch ${hostOf(url(row)) ? firstLine(url(row).replace(/^https?:\/\//i, "")) : firstLine(url(row)) || "a page"}`,
  inline,
  Body: (props) => <View {...props} full={false} />,
  Full: (props) => <View {...props} full />,
  asks: Asks,
};
