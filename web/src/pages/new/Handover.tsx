/** Artifacts of an earlier session (research note, plan, review) to hand over to the new one. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap } from "@/api/client";
import { titleOf } from "@/layout/sessionOrder";
import { useSession } from "@/state/app";

interface Item {
  id: string;
  title: string;
  kind: string;
}

export interface HandoverState {
  from: string;
  items: Item[];
  left: ReadonlySet<string>;
  toggle(id: string): void;
  chosen: { session_id: string; id: string }[];
}

export function useHandover(from: string): HandoverState {
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const made = useQuery({
    queryKey: ["artifacts", from],
    queryFn: async () =>
      (await unwrap(api.GET("/sessions/{id}/artifacts", { params: { path: { id: from } } }))).artifacts,
    enabled: from !== "",
  });
  const items = made.data ?? [];
  return {
    from,
    items,
    left,
    toggle: (id) =>
      setLeft((before) => {
        const next = new Set(before);
        if (!next.delete(id)) next.add(id);
        return next;
      }),
    chosen: items.filter((each) => !left.has(each.id)).map((each) => ({ session_id: from, id: each.id })),
  };
}

export function Handover({ handover }: { handover: HandoverState }) {
  const session = useSession(handover.from);
  if (handover.items.length === 0) return null;
  return (
    <fieldset className="m-0 border-0 p-0">
      <legend className="mb-1 p-0 font-medium text-ink-2">
        Handed over from <bdi>{session ? titleOf(session) : handover.from}</bdi>
      </legend>
      {handover.items.map((each) => (
        <label key={each.id} className="target flex items-center gap-2 py-0.5">
          <input
            type="checkbox"
            checked={!handover.left.has(each.id)}
            onChange={() => handover.toggle(each.id)}
            className="size-3.5 accent-(--accent)"
          />
          <bdi className="truncate">{each.title || each.id}</bdi>
          <span className="text-small text-ink-3">{each.kind}</span>
        </label>
      ))}
    </fieldset>
  );
}
