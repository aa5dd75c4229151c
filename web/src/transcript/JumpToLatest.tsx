/** Button to the end of the transcript, with the number of new rows. */
import { useRef } from "react";
import { useCommand } from "@/keys/useCommand";
import type { Item } from "@/state/rows";
import { Button } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import type { Virtualizer } from "./scroll/virtualizer";

export function JumpToLatest({ virtualizer, items }: { virtualizer: Virtualizer; items: readonly Item[] }) {
  const last = useRef("");
  const { pinned } = virtualizer;
  if (pinned) last.current = items.at(-1)?.id ?? "";
  useCommand("latest", () => virtualizer.scrollToEnd());
  if (pinned) return null;
  const seen = items.findLastIndex((item) => item.id === last.current);
  const fresh = seen < 0 ? 0 : items.length - 1 - seen;
  return (
    <div className="pointer-events-none absolute inset-x-0 bottom-3 flex justify-center">
      <Button
        command="latest"
        look="plain"
        className="pointer-events-auto border border-line shadow-float"
        icon={<Icon name="down" />}
        onClick={() => virtualizer.scrollToEnd()}
      >
        Jump to latest{fresh > 0 ? ` (${fresh} new)` : ""}
      </Button>
    </div>
  );
}
