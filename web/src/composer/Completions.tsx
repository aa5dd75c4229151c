/** Completions above the composer, chosen by keys while the focus stays in the field. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, unwrap } from "@/api/client";
import { useInventory } from "@/state/inventory";
import { Icon } from "@/ui/Icon";
import { VisibleText } from "@/ui/VisibleText";
import { commandTag, matching, type Trigger } from "./completion";

export interface Candidate {
  value: string;
  about: string;
  /** What arguments it takes. */
  hint: string;
  /** What kind of command it is, where that matters. */
  tag: string;
}

export const LISTBOX = "composer-completions";

export function optionId(index: number): string {
  return `${LISTBOX}-${index}`;
}

/** Paths or commands for the text at the caret; empty without a trigger. */
export function useCandidates(id: string, trigger: Trigger | null): Candidate[] {
  const commands = useInventory(id)?.commands ?? [];
  const query = useDebounced(trigger?.kind === "file" ? trigger.query : null);
  const { data } = useQuery({
    queryKey: ["complete", id, query],
    queryFn: () =>
      unwrap(
        api.GET("/sessions/{id}/complete", {
          params: { path: { id }, query: { q: query ?? "", limit: 12 } },
        }),
      ),
    enabled: query !== null,
    placeholderData: (before) => before,
    retry: false,
  });
  if (!trigger) return [];
  if (trigger.kind === "file")
    return (data?.paths ?? []).map((value) => ({ value, about: "", hint: "", tag: "" }));
  return matching(commands, trigger.query).map((each) => ({
    value: each.name,
    about: each.description,
    hint: each.hint,
    tag: commandTag(each),
  }));
}

/** The value after a short pause in typing. */
function useDebounced(value: string | null): string | null {
  const [calm, setCalm] = useState(value);
  useEffect(() => {
    if (value === null) return setCalm(null);
    const timer = window.setTimeout(() => setCalm(value), 80);
    return () => window.clearTimeout(timer);
  }, [value]);
  return value === null ? null : calm;
}

interface Props {
  kind: Trigger["kind"];
  candidates: readonly Candidate[];
  chosen: number;
  onChoose: (index: number) => void;
}

export function Completions({ kind, candidates, chosen, onChoose }: Props) {
  useEffect(() => {
    document.getElementById(optionId(chosen))?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <div
      id={LISTBOX}
      role="listbox"
      aria-label={kind === "file" ? "Files" : "Commands"}
      className="absolute inset-x-0 bottom-full z-20 mb-1 max-h-64 overflow-auto rounded-box border border-line bg-surface-1 p-1 shadow-float md:max-w-[560px]"
    >
      {candidates.map((candidate, index) => (
        <div
          key={candidate.value}
          id={optionId(index)}
          role="option"
          tabIndex={-1}
          aria-selected={index === chosen}
          className={`target flex h-7 cursor-pointer items-center gap-2 rounded px-2 ${index === chosen ? "bg-surface-3" : "hover:bg-surface-2"}`}
          onMouseDown={(event) => {
            event.preventDefault(); // the field keeps the focus
            onChoose(index);
          }}
        >
          <Icon name={iconOf(kind, candidate.value)} size={14} className="text-ink-3" />
          <span
            className={`min-w-0 ${kind === "file" ? "" : "shrink-0 max-w-64"} truncate ${kind === "file" ? "font-mono text-code" : "font-medium"}`}
          >
            {kind === "command" && "/"}
            <VisibleText text={candidate.value} />
          </span>
          {candidate.hint && (
            <span className="max-w-40 shrink-0 truncate font-mono text-small text-ink-2">
              <VisibleText text={candidate.hint} />
            </span>
          )}
          <span className="min-w-0 flex-1 truncate text-small text-ink-3">
            <VisibleText text={candidate.about} />
          </span>
          {candidate.tag && <span className="shrink-0 text-small text-ink-3">{candidate.tag}</span>}
        </div>
      ))}
    </div>
  );
}

function iconOf(kind: Trigger["kind"], value: string): "terminal" | "folder" | "file" {
  if (kind === "command") return "terminal";
  return value.endsWith("/") ? "folder" : "file";
}
