/** The title of a session, edited in place. */
import { useEffect, useRef, useState } from "react";
import type { SessionView } from "@/api/types";
import { useCommand } from "@/keys/useCommand";
import { configure } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { VisibleText } from "@/ui/VisibleText";

const LONGEST = 200;

export function SessionTitle({ session }: { session: SessionView }) {
  const [editing, setEditing] = useState(false);
  const allowed = useApp((state) => hasScope(state.me, "operate"));
  useCommand("rename", () => setEditing(true), allowed);
  if (editing) return <TitleField session={session} onClose={() => setEditing(false)} />;
  return (
    <h1 className="m-0 min-w-0 truncate text-prose font-semibold" title={session.title}>
      {allowed ? (
        <button
          type="button"
          aria-label={`Rename: ${session.title || "Untitled session"}`}
          className="max-w-full truncate rounded hover:bg-surface-2"
          onClick={() => setEditing(true)}
        >
          <Name session={session} />
        </button>
      ) : (
        <Name session={session} />
      )}
    </h1>
  );
}

function Name({ session }: { session: SessionView }) {
  return session.title ? (
    <VisibleText text={session.title} />
  ) : (
    <span className="text-ink-3">Untitled session</span>
  );
}

function TitleField({ session, onClose }: { session: SessionView; onClose: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const over = useRef(false);
  useEffect(() => field.current?.select(), []);
  const finish = (keep: boolean) => {
    if (over.current) return;
    over.current = true;
    const title = field.current?.value.trim() ?? "";
    if (keep && title && title !== session.title) void configure(session.id, { title });
    onClose();
  };
  return (
    <input
      ref={field}
      aria-label="Session title"
      defaultValue={session.title}
      maxLength={LONGEST}
      className="h-6 min-w-0 flex-1 rounded border border-line-strong bg-surface-0 px-1 text-prose font-semibold"
      onBlur={() => finish(true)}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        if (event.key === "Enter") finish(true);
        if (event.key === "Escape") finish(false);
      }}
    />
  );
}
