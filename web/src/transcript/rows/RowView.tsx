/** Renders a row by its kind. */
import { memo } from "react";
import type { Row } from "@/state/rows";
import type { Transcript } from "@/state/transcript";
import { AgentGroup, isAgent } from "../AgentGroup";
import { ToolLine } from "../ToolLine";
import { ArtifactRow } from "./ArtifactRow";
import { MarkRow } from "./MarkRow";
import { NoticeRow } from "./NoticeRow";
import { TextRow } from "./TextRow";
import { ThinkingRow } from "./ThinkingRow";
import { TurnRow } from "./TurnRow";
import { UnknownRow } from "./UnknownRow";
import { UserRow } from "./UserRow";

export const RowView = memo(function RowView({ transcript, row }: { transcript: Transcript; row: Row }) {
  const sessionId = transcript.id;
  switch (row.kind) {
    case "user":
      return <UserRow row={row} />;
    case "text":
      return <TextRow row={row} sessionId={sessionId} />;
    case "thinking":
      return <ThinkingRow row={row} sessionId={sessionId} />;
    case "tool":
      if (isAgent(transcript, row))
        return <AgentGroup transcript={transcript} row={row} sessionId={sessionId} renderRow={renderRow} />;
      return <ToolLine transcript={transcript} row={row} sessionId={sessionId} />;
    case "notice":
      return <NoticeRow row={row} />;
    case "mark":
      return <MarkRow row={row} />;
    case "turn":
      return <TurnRow row={row} />;
    case "artifact":
      return <ArtifactRow row={row} />;
    case "unknown":
      return <UnknownRow row={row} />;
  }
});

function renderRow(transcript: Transcript, row: Row) {
  return <RowView transcript={transcript} row={row} />;
}
