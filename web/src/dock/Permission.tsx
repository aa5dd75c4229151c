/** A tool wants to do something: the whole of it, and what one can say to it. */
import { useState } from "react";
import { useSurroundings } from "@/composer/surroundings";
import { DiffView } from "@/diff/DiffView";
import { useCommand } from "@/keys/useCommand";
import { may, useApp } from "@/state/app";
import { viewOf } from "@/tools/registry";
import { Button } from "@/ui/Button";
import { Shown } from "@/ui/Hidden";
import { Icon } from "@/ui/Icon";
import { plural } from "@/words/format";
import { AlwaysMenu } from "./AlwaysMenu";
import type { PartProps } from "./Decision";
import { EditFirst } from "./EditFirst";
import type { Proposal } from "./hunks";
import { KeySign } from "./KeySign";
import { Reason } from "./Reason";
import { SeenToTheEnd } from "./Seen";
import { type Answering, useAnswer } from "./useAnswer";
import { useProposal } from "./useProposal";

export function Permission({ session, interaction, opened, keys, onDone }: PartProps) {
  const allowed = useApp((state) => may(state.me, "approve"));
  const answering = useAnswer(interaction, onDone);
  const [seen, setSeen] = useState("");
  const [left, setLeft] = useState<ReadonlySet<number>>(new Set());
  const [part, setPart] = useState<"" | "reason" | "edit">("");
  const { proposal, ready } = useProposal(session, opened);
  const of = `${interaction.id}/${ready}`;
  const isSeen = ready && seen === of;
  const can = allowed && isSeen && !answering.busy;
  const operates = useApp((state) => may(state.me, "operate"));
  const editable = useSurroundings(session.id)?.capabilities.edit_input !== false && operates;

  const allow = () => {
    if (!can) return;
    const input = proposal && left.size > 0 ? proposal.without(left) : undefined;
    if (input === null) return void answering.answer({ decision: "deny", reason: NONE_TAKEN });
    void answering.answer({ decision: "allow", ...(input ? { input } : {}) });
  };
  const deny = () => void (allowed && answering.answer({ decision: "deny" }));
  useCommand("approve", allow, keys && allowed && part === "");
  useCommand("deny", deny, keys && allowed && part === "" && !answering.busy);

  if (part === "edit") return <EditFirst opened={opened} answering={answering} onClose={() => setPart("")} />;
  return (
    <>
      <SeenToTheEnd label="What is asked" of={of} onSeen={setSeen} className="mx-3 my-1.5">
        {proposal ? (
          <Hunks proposal={proposal} left={left} onLeft={editable && allowed ? setLeft : undefined} />
        ) : (
          ready && <Asked session={session} interaction={interaction} opened={opened} keys={keys} />
        )}
      </SeenToTheEnd>
      <Trouble answering={answering} />
      {part === "reason" ? (
        <Reason answering={answering} onClose={() => setPart("")} />
      ) : (
        allowed && (
          <footer className="flex flex-wrap items-center gap-2 px-3 pt-1 pb-3">
            <Button look="needs" command="approve" disabled={!can} onClick={allow} className="max-md:flex-1">
              {left.size > 0 && proposal ? takenWords(proposal, left) : "Allow"} <KeySign command="approve" />
            </Button>
            {left.size === 0 && (
              <AlwaysMenu sessionId={session.id} opened={opened} disabled={!can} answering={answering} />
            )}
            <Button command="deny" disabled={answering.busy} onClick={deny} className="max-md:flex-1">
              Deny <KeySign command="deny" />
            </Button>
            <Button look="quiet" disabled={answering.busy} onClick={() => setPart("reason")}>
              Deny and say why
            </Button>
            {editable && (
              <Button look="quiet" disabled={!can} onClick={() => setPart("edit")}>
                Edit first
              </Button>
            )}
            {!ready && <span className="text-small text-ink-3">Reading the file</span>}
            {ready && !isSeen && (
              <span className="text-small text-needs">
                <Icon name="down" size={12} className="inline" /> Scroll to its end to allow it
              </span>
            )}
          </footer>
        )
      )}
    </>
  );
}

const NONE_TAKEN = "None of the changes are wanted. Ask what to do instead.";

function takenWords(proposal: Proposal, left: ReadonlySet<number>): string {
  const taken = proposal.hunks.length - left.size;
  return taken === 0 ? "Deny all" : `Allow ${taken} of ${plural(proposal.hunks.length, "change")}`;
}

function Asked({ session, opened }: PartProps) {
  const { input, malformed, name } = opened.call;
  const Asks = viewOf(name).asks;
  if (malformed || !Asks)
    return (
      <pre className="m-0 whitespace-pre-wrap break-words font-mono text-code">
        <Shown text={malformed || JSON.stringify(input, null, 2)} />
      </pre>
    );
  return <Asks input={input as Record<string, unknown>} sessionId={session.id} />;
}

interface HunksProps {
  proposal: Proposal;
  left: ReadonlySet<number>;
  onLeft: ((left: ReadonlySet<number>) => void) | undefined;
}

/** Each change can be left out, where there is more than one or it is worth saying. */
function Hunks({ proposal, left, onLeft }: HunksProps) {
  const toggle = (index: number) => {
    const next = new Set(left);
    if (!next.delete(index)) next.add(index);
    onLeft?.(next);
  };
  const several = onLeft && proposal.divisible && proposal.hunks.length > 1;
  return (
    <>
      <p className="m-0 pb-1 font-mono text-code text-ink-2">
        <Shown text={proposal.path} />
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
                  look={left.has(index) ? "danger" : "quiet"}
                  aria-pressed={left.has(index)}
                  onClick={() => toggle(index)}
                >
                  {left.has(index) ? "Left out. Take it again" : "Leave this out"}
                </Button>
              ),
            }
          : {})}
      />
    </>
  );
}

export function Trouble({ answering }: { answering: Answering }) {
  if (!answering.problem) return null;
  return (
    <p role="alert" className="m-0 px-3 pb-1 text-failed">
      {answering.problem}
    </p>
  );
}
