/** Parts of what a call shows, one under the other; what can be copied has a button for it. */
import type { ReactNode } from "react";
import { IconButton } from "@/ui/Button";
import { copy } from "@/ui/copy";
import { Icon } from "@/ui/Icon";

/** A part with a word above it. */
export function Section({ label, children }: { label: ReactNode; children: ReactNode }) {
  return (
    <div className="min-w-0">
      {label && <div className="min-w-0 truncate pb-1 text-small text-ink-3">{label}</div>}
      {children}
    </div>
  );
}

/** Machine text on a ground of its own. */
export function Ground({ copied, children }: { copied?: string; children: ReactNode }) {
  return (
    <div className="group/ground relative min-w-0 rounded-box bg-surface-1 px-3 py-2">
      {children}
      {copied && <CopyButton text={copied} />}
    </div>
  );
}

/** Words for people that can be copied as they were written. */
export function Sheet({ copied, children }: { copied: string; children: ReactNode }) {
  return (
    <div className="group/ground relative min-w-0">
      {children}
      <CopyButton text={copied} />
    </div>
  );
}

/** For a mouse and keys; a finger has the button of the whole row, and needs the room. */
function CopyButton({ text }: { text: string }) {
  return (
    <IconButton
      label="Copy"
      onClick={() => void copy(text)}
      className="absolute top-1 right-1 bg-surface-2 opacity-0 group-hover/ground:opacity-100 focus-visible:opacity-100 pointer-coarse:hidden"
    >
      <Icon name="copy" size={14} />
    </IconButton>
  );
}

/** What the body of a call is made of, one under the other. */
export function Stack({ children }: { children: ReactNode }) {
  return <div className="flex min-w-0 flex-col gap-2">{children}</div>;
}
