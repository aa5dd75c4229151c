/** A tip: a few words and a key, for what is pointed at or focused. */
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { Keys } from "./Keys";

export function Tip({ words, keys = "", children }: { words: string; keys?: string; children: ReactNode }) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content
          sideOffset={4}
          collisionPadding={8}
          className="z-50 flex max-w-80 items-center gap-2 rounded-box bg-surface-3 px-2 py-1 text-small text-ink-1 shadow-float"
        >
          {words}
          {keys && <Keys keys={keys} />}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
