/** Header of a session: title, directory, branch, mode, permissions, status, context, cost. */
import { skipToken, useQuery } from "@tanstack/react-query";
import { memo, useMemo } from "react";
import type { SessionView } from "@/api/types";
import { BypassFrame, BypassState } from "@/composer/Bypass";
import { ElapsedTime } from "@/composer/Clock";
import { StopOrRetry } from "@/composer/StopOrRetry";
import { isBusy } from "@/composer/sessionStatus";
import { ContextShare } from "@/composer/TokenBadge";
import { serverNow } from "@/format/serverClock";
import { baseName, count, money, shortPath } from "@/format/values";
import type { components } from "@/gen/api";
import { PanelButton } from "@/panels/PanelButton";
import { useApp } from "@/state/app";
import { useOfTranscript } from "@/state/hooks";
import { useInventory } from "@/state/inventory";
import { modelAlias, modeNow, permissionLabel, workflowLabel } from "@/state/modes";
import { transcriptOf } from "@/stream/connection";
import { Icon } from "@/ui/Icon";
import { StatusMark } from "@/ui/Status";
import { VisibleText } from "@/ui/VisibleText";
import { SessionMenu } from "./SessionMenu";
import { SessionTitle } from "./SessionTitle";

type Changes = components["schemas"]["WorkingChanges"];

export const SessionHeader = memo(function SessionHeader({ session }: { session: SessionView }) {
  return (
    <section aria-label="Session" className="hairline-b shrink-0 px-3 py-1.5 md:px-4">
      <div className="flex h-7 items-center gap-2">
        <SessionTitle session={session} />
        <ModeSummary session={session} />
        <span className="flex-1" />
        <StatusWithTime session={session} />
        <StopOrRetry session={session} iconOnly />
        <SessionMenu session={session} />
        <PanelButton />
      </div>
      <div className="flex h-6 items-center gap-2 text-ink-2 md:gap-3">
        <LocationSummary session={session} />
        <span className="flex-1" />
        <Numbers session={session} />
      </div>
      <BypassFrame session={session} />
    </section>
  );
});

/** Workflow, model and permission mode; on phones they are in the second line. */
function ModeSummary({ session }: { session: SessionView }) {
  const config = useApp((state) => state.config);
  const parts = [workflowLabel(config, session.config.workflow), modelAlias(config, session.model)];
  return (
    <span className="flex shrink-0 items-center gap-1.5 text-ink-2 max-md:hidden">
      {parts.filter(Boolean).map((part) => (
        <span key={part} className="before:mr-1.5 before:text-ink-3 before:content-['·']">
          <VisibleText text={part} />
        </span>
      ))}
      <span aria-hidden="true" className="text-ink-3">
        ·
      </span>
      <Permission session={session} />
    </span>
  );
}

function Permission({ session }: { session: SessionView }) {
  const config = useApp((state) => state.config);
  const mode = modeNow(session, serverNow());
  const about = config?.permission_modes.find((each) => each.name === mode)?.description ?? "";
  return (
    <BypassState session={session}>
      <span title={about ? `Permission: ${about}` : "Permission mode"} className="whitespace-nowrap">
        {permissionLabel(config, mode)}
      </span>
    </BypassState>
  );
}

function LocationSummary({ session }: { session: SessionView }) {
  const config = useApp((state) => state.config);
  const { sandbox, branch: checkedOut = "" } = useInventory(session.id) ?? {};
  const branch = session.config.branch || checkedOut;
  return (
    <div className="flex min-w-0 items-center gap-2 md:gap-3">
      <Directory path={session.cwd} />
      {branch && (
        <span
          title={session.config.branch ? `Branch ${branch}, in its own worktree` : `Branch ${branch}`}
          className="flex min-w-0 items-center gap-1"
        >
          <Icon name="branch" size={14} className="text-ink-3" />
          <span className="truncate">
            <VisibleText text={branch} />
          </span>
        </span>
      )}
      <span className="flex shrink-0 items-center gap-1.5 md:hidden">
        <span>{workflowLabel(config, session.config.workflow)}</span>
        <span aria-hidden="true">·</span>
        <Permission session={session} />
      </span>
      {sandbox && (
        <span className="shrink-0 text-ink-3 max-md:hidden" title={sandbox.problem || "Sandbox for commands"}>
          {sandbox.kind ? `Sandbox ${sandbox.kind}` : sandbox.enabled ? "Sandbox unavailable" : "No sandbox"}
        </span>
      )}
      {session.elsewhere && (
        <span
          className="shrink-0 text-ink-3"
          title="Another process runs this session; it receives your messages."
        >
          Run from a terminal
        </span>
      )}
    </div>
  );
}

/** The last part of a path identifies it: it is truncated last. */
function Directory({ path: whole }: { path: string }) {
  const home = useApp((state) => state.config?.home ?? "");
  const path = shortPath(whole, home);
  const name = baseName(path);
  const before = path.slice(0, path.lastIndexOf(name));
  return (
    <span title={whole} className="flex min-w-0 items-center gap-1">
      <Icon name="folder" size={14} className="text-ink-3" />
      <span className="sr-only">Directory </span>
      <span className="flex min-w-0">
        <span className="min-w-0 shrink-[20] truncate text-ink-3 max-md:hidden">
          <VisibleText text={before} />
        </span>
        <span className="min-w-0 truncate md:min-w-12">
          <VisibleText text={name} />
        </span>
      </span>
    </span>
  );
}

function StatusWithTime({ session }: { session: SessionView }) {
  const startedAt = useOfTranscript(transcriptOf(session.id), (each) => each.fold.turn.startedAt);
  const runs = isBusy(session) && startedAt > 0;
  return (
    <span className="flex shrink-0 items-center gap-2">
      <StatusMark session={session} withLabel />
      <span className="tabular min-w-9 text-right text-ink-2 max-md:hidden">
        {runs && <ElapsedTime at={startedAt} />}
      </span>
    </span>
  );
}

/** Numbers with fixed widths, so that nothing moves. */
function Numbers({ session }: { session: SessionView }) {
  return (
    <div className="tabular flex shrink-0 items-center gap-2 whitespace-nowrap md:gap-3">
      <span className="min-w-14 text-right max-md:hidden">
        <ChangeCount session={session} />
      </span>
      <span className="min-w-16 text-right max-md:hidden">
        <ContextShare session={session} />
      </span>
      <span className="min-w-10 text-right" title="Cost so far">
        {session.cost > 0 || session.steps > 0 ? money(session.cost) : ""}
      </span>
    </div>
  );
}

/** Lines added and removed, if the Changes panel has loaded them; the header does not request them. */
function ChangeCount({ session }: { session: SessionView }) {
  const { data } = useQuery<Changes>({
    queryKey: ["diff", session.id, "list", "session"],
    queryFn: skipToken,
  });
  const { added, removed } = useMemo(() => sum(data?.files ?? []), [data]);
  if (added + removed === 0) return null;
  return (
    <span title="Lines added and removed">
      {added > 0 && <span className="text-done">+{count(added)}</span>}
      {added > 0 && removed > 0 && " "}
      {removed > 0 && <span className="text-failed">−{count(removed)}</span>}
    </span>
  );
}

function sum(files: readonly { added?: number; removed?: number }[]): { added: number; removed: number } {
  const found = { added: 0, removed: 0 };
  for (const file of files) {
    found.added += file.added ?? 0;
    found.removed += file.removed ?? 0;
  }
  return found;
}
