/** A permission request: what the tool would do, in full, and the ways to answer. */
import { useState } from "react";
import { DiffView } from "@/diff/DiffView";
import { plural } from "@/format/values";
import { useCommand } from "@/keys/useCommand";
import { hasScope, useApp } from "@/state/app";
import { useInventory } from "@/state/inventory";
import { viewOf } from "@/tools/registry";
import { Button } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { VisibleText } from "@/ui/VisibleText";
import { AlwaysAllowMenu } from "./AlwaysAllowMenu";
import type { RequestProps } from "./ApprovalCard";
import { DenyReason } from "./DenyReason";
import { EditInput } from "./EditInput";
import type { Proposal } from "./editProposal";
import { KeyHint } from "./KeyHint";
import { ReadToEnd } from "./ReadToEnd";
import { type AnswerState, useAnswer } from "./useAnswer";
import { useProposal } from "./useProposal";

export function PermissionRequest({ session, interaction, opened, keys, onDone }: RequestProps) {
  const allowed = useApp((state) => hasScope(state.me, "approve"));
  const answering = useAnswer(interaction, onDone);
  const [seen, setSeen] = useState("");
  const [excluded, setExcluded] = useState<ReadonlySet<number>>(new Set());
  const [part, setPart] = useState<"" | "reason" | "edit">("");
  const { proposal, ready } = useProposal(session, opened);
  const of = `${interaction.id}/${ready}`;
  const isSeen = ready && seen === of;
  const can = allowed && isSeen && !answering.busy;
  const operates = useApp((state) => hasScope(state.me, "operate"));
  const editable = useInventory(session.id)?.capabilities.edit_input !== false && operates;

  const allow = () => {
    if (!can) return;
    const input = proposal && excluded.size > 0 ? proposal.without(excluded) : undefined;
    if (input === null) return void answering.answer({ decision: "deny", reason: ALL_EXCLUDED });
    void answering.answer({ decision: "allow", ...(input ? { input } : {}) });
  };
  const deny = () => void (allowed && answering.answer({ decision: "deny" }));
  useCommand("approve", allow, keys && allowed && part === "");
  useCommand("deny", deny, keys && allowed && part === "" && !answering.busy);

  if (part === "edit") return <EditInput opened={opened} answering={answering} onClose={() => setPart("")} />;
  return (
    <>
      <ReadToEnd label="Proposed action" id={of} onSeen={setSeen} className="mx-3 my-1.5">
        {proposal ? (
          <Hunks
            proposal={proposal}
            excluded={excluded}
            onExclude={editable && allowed ? setExcluded : undefined}
          />
        ) : (
          ready && <RequestInput session={session} interaction={interaction} opened={opened} keys={keys} />
        )}
      </ReadToEnd>
      <AnswerError answering={answering} />
      {part === "reason" ? (
        <DenyReason answering={answering} onClose={() => setPart("")} />
      ) : (
        allowed && (
          <footer className="flex flex-wrap items-center gap-2 px-3 pt-1 pb-3">
            <Button look="needs" command="approve" disabled={!can} onClick={allow} className="max-md:flex-1">
              {excluded.size > 0 && proposal ? allowLabel(proposal, excluded) : "Allow"}{" "}
              <KeyHint command="approve" />
            </Button>
            {excluded.size === 0 && (
              <AlwaysAllowMenu sessionId={session.id} opened={opened} disabled={!can} answering={answering} />
            )}
            <Button command="deny" disabled={answering.busy} onClick={deny} className="max-md:flex-1">
              Deny <KeyHint command="deny" />
            </Button>
            <Button look="quiet" disabled={answering.busy} onClick={() => setPart("reason")}>
              Deny with reason
            </Button>
            {editable && (
              <Button look="quiet" disabled={!can} onClick={() => setPart("edit")}>
                Edit input
              </Button>
            )}
            {!ready && <span className="text-small text-ink-3">Loading the file</span>}
            {ready && !isSeen && (
              <span className="text-small text-needs">
                <Icon name="down" size={12} className="inline" /> Scroll to the end to enable Allow
              </span>
            )}
          </footer>
        )
      )}
    </>
  );
}

const ALL_EXCLUDED = "None of the changes are wanted. Ask what to do instead.";

function allowLabel(proposal: Proposal, excluded: ReadonlySet<number>): string {
  const taken = proposal.hunks.length - excluded.size;
  return taken === 0 ? "Deny all" : `Allow ${taken} of ${plural(proposal.hunks.length, "change")}`;
}

function RequestInput({ session, opened }: RequestProps) {
  const { input, malformed, name } = opened.call;
  const ToolRequest = viewOf(name).request;
  if (malformed || !ToolRequest)
    return (
      <pre className="m-0 whitespace-pre-wrap break-words font-mono text-code">
        <VisibleText text={malformed || JSON.stringify(input, null, 2)} />
      </pre>
    );
  return <ToolRequest input={input as Record<string, unknown>} sessionId={session.id} />;
}

interface HunksProps {
  proposal: Proposal;
  excluded: ReadonlySet<number>;
  onExclude: ((excluded: ReadonlySet<number>) => void) | undefined;
}

/** Shows the hunks; with several, each can be excluded. */
function Hunks({ proposal, excluded, onExclude }: HunksProps) {
  const toggle = (index: number) => {
    const next = new Set(excluded);
    if (!next.delete(index)) next.add(index);
    onExclude?.(next);
  };
  const several = onExclude && proposal.divisible && proposal.hunks.length > 1;
  return (
    <>
      <p className="m-0 pb-1 font-mono text-code text-ink-2">
        <VisibleText text={proposal.path} />
      </p>
      {proposal.about && <p className="m-0 pb-1 text-needs">{proposal.about}</p>}
      <DiffView
        hunks={proposal.hunks}
        path={proposal.path}
        split={false}
        maxLines={Number.POSITIVE_INFINITY}
        {...(several
          ? {
              renderHunkActions: (_hunk, index) => (
                <Button
                  look={excluded.has(index) ? "danger" : "quiet"}
                  aria-pressed={excluded.has(index)}
                  onClick={() => toggle(index)}
                >
                  {excluded.has(index) ? "Excluded. Include" : "Exclude"}
                </Button>
              ),
            }
          : {})}
      />
    </>
  );
}

export function AnswerError({ answering }: { answering: AnswerState }) {
  if (!answering.problem) return null;
  return (
    <p role="alert" className="m-0 px-3 pb-1 text-failed">
      {answering.problem}
    </p>
  );
}
