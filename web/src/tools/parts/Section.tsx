/** Building blocks of a call's body, with copy buttons. */
import type { ReactNode } from "react";
import { IconButton } from "@/ui/Button";
import { copy } from "@/ui/copy";
import { Icon } from "@/ui/Icon";

/** A labelled section. */
export function Section({ label, children }: { label: ReactNode; children: ReactNode }) {
  return (
    <div className="min-w-0">
      {label && <div className="min-w-0 truncate pb-1 text-small text-ink-3">{label}</div>}
      {children}
    </div>
  );
}

/** Code on its own background. */
export function CodeGround({ copied, children }: { copied?: string; children: ReactNode }) {
  return (
    <div className="group/ground relative min-w-0 rounded-box bg-surface-1 px-3 py-2">
      {children}
      {copied && <CopyButton text={copied} />}
    </div>
  );
}

/** Prose with a copy button. */
export function CopyableText({ copied, children }: { copied: string; children: ReactNode }) {
  return (
    <div className="group/ground relative min-w-0">
      {children}
      <CopyButton text={copied} />
    </div>
  );
}

/** For mouse and keyboard; touch uses the row's copy action. */
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

/** A vertical stack of sections. */
export function Stack({ children }: { children: ReactNode }) {
  return <div className="flex min-w-0 flex-col gap-2">{children}</div>;
}
