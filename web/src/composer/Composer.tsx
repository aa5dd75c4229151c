/** Where a person writes to the agent. */
import { useRef, useState } from "react";
import type { SessionView } from "@/api/types";
import { send } from "@/state/actions";
import { Button } from "@/ui/Button";

export function Composer({ session }: { session: SessionView }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [empty, setEmpty] = useState(true);
  const submit = async () => {
    const text = field.current?.value ?? "";
    if (!text.trim() || !field.current) return;
    field.current.value = "";
    setEmpty(true);
    if (!(await send(session.id, text, [], "queue"))) field.current.value = text;
  };
  return (
    <form
      aria-label="Write to the agent"
      className="hairline-t flex items-end gap-2 p-2"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <textarea
        ref={field}
        aria-label="Message"
        rows={2}
        className="min-w-0 flex-1 resize-none rounded-box bg-surface-1 px-2 py-1"
        onChange={(event) => setEmpty(!event.target.value.trim())}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          void submit();
        }}
      />
      <Button type="submit" look="primary" disabled={empty}>
        Send
      </Button>
    </form>
  );
}
