/** Actions on a row, shown on hover, focus or touch. */
import { useNavigate } from "@tanstack/react-router";
import { fork, showError } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import type { Row } from "@/state/rows";
import { IconButton } from "@/ui/Button";
import { copy } from "@/ui/copy";
import { Icon } from "@/ui/Icon";
import { inspect } from "./inspect";
import { linkTo } from "./links";
import { fullText, textOf } from "./rows/fullText";

export function RowActions({ sessionId, row, group }: { sessionId: string; row: Row; group: boolean }) {
  const navigate = useNavigate();
  const operates = useApp((state) => hasScope(state.me, "operate"));
  const text = textOf(row);
  const forks =
    operates && row.seq > 0 && (row.kind === "user" || row.kind === "text" || row.kind === "turn");
  if (group || (row.kind !== "tool" && !text)) return null;
  const branch = async () => {
    const made = await fork(sessionId, row.entry);
    if (made) void navigate({ to: "/session/$id", params: { id: made.id }, search: {} });
  };
  return (
    <div className="absolute top-0.5 right-3 flex items-center rounded-box border border-line bg-surface-1">
      {row.kind === "tool" && (
        <IconButton label="Inspect call" command="row.inspect" onClick={() => inspect(sessionId, row.id)}>
          <Icon name="expand" />
        </IconButton>
      )}
      {text && (
        <IconButton
          label="Copy text"
          onClick={() => void fullText(sessionId, row).then((whole) => copy(whole), showError)}
        >
          <Icon name="copy" />
        </IconButton>
      )}
      <IconButton label="Copy link" onClick={() => void copy(linkTo(sessionId, row), "Link copied")}>
        <Icon name="link" />
      </IconButton>
      {forks && (
        <IconButton label="Fork session" onClick={() => void branch()}>
          <Icon name="fork" />
        </IconButton>
      )}
    </div>
  );
}
