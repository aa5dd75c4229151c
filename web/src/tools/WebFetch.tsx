/** WebFetch call: a fetched page. */
import { bytes } from "@/format/values";
import type { ToolRow } from "@/state/rows";
import { hostOf } from "@/text/links";
import { firstLine, hasFailed, numberOf, textOf } from "./parts/fields";
import { useFullCall } from "./parts/fullCall";
import { Link } from "./parts/Link";
import { Literal, RequestField } from "./parts/Literal";
import { LoadAll } from "./parts/LoadAll";
import { Problem } from "./parts/Outcome";
import { Prose } from "./parts/Prose";
import { ResultImages } from "./parts/ResultImages";
import { CopyableText, Section, Stack } from "./parts/Section";
import type { CallProps, RequestProps, ToolView } from "./view";

function url(row: ToolRow): string {
  return textOf(row.input, "url");
}

function inline(row: ToolRow): string {
  const size = numberOf(row.display, "bytes");
  return [textOf(row.display, "code"), size !== null ? bytes(size) : ""].filter(Boolean).join(" · ");
}

function View({ row, sessionId, full }: CallProps & { full: boolean }) {
  const whole = useFullCall(row, sessionId);
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
      {asked && <RequestField label="Prompt" text={asked} />}
      {hasFailed(call) ? (
        <Problem row={call} />
      ) : (
        call.settled && (
          <Section label="">
            <CopyableText copied={call.output}>
              <Prose text={textOf(call.display, "result") || call.output} most={full ? 1_000 : 30} />
            </CopyableText>
          </Section>
        )
      )}
      <ResultImages images={call.images} />
      <LoadAll whole={whole} />
    </Stack>
  );
}

function ApprovalRequest({ input }: RequestProps) {
  return (
    <Stack>
      <Literal label="URL" text={textOf(input, "url")} />
      {textOf(input, "prompt") && <RequestField label="Prompt" text={textOf(input, "prompt")} />}
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
  request: ApprovalRequest,
};
