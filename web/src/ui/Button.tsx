/** Buttons. Each that a key can press shows that key when pointed at. */
import type { ButtonHTMLAttributes, ReactElement, ReactNode } from "react";
import type { CommandId } from "@/keys/commands";
import { keyOf, shown, useKeymap } from "@/keys/keymap";
import { Tip } from "./Tip";

export type Look = "plain" | "quiet" | "primary" | "danger" | "needs";

const LOOKS: Record<Look, string> = {
  plain: "bg-surface-2 hover:bg-surface-3 text-ink-1",
  quiet: "text-ink-2 hover:bg-surface-2 hover:text-ink-1",
  primary: "bg-accent text-on-accent hover:opacity-90",
  danger: "bg-failed-soft text-failed hover:bg-failed hover:text-surface-0",
  needs: "bg-needs-fill text-on-needs hover:opacity-90",
};

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
  /** The command it stands for: its key is shown. */
  command?: CommandId;
  /** Words for the tip, where the button's own do not say enough. */
  tip?: string;
  icon?: ReactNode;
}

export function Button({ look = "plain", command, tip, icon, children, className = "", ...rest }: Props) {
  const button = (
    <button
      type="button"
      {...rest}
      className={`target inline-flex h-7 items-center justify-center gap-1.5 rounded-box px-2.5 text-chrome whitespace-nowrap transition-colors disabled:cursor-not-allowed disabled:opacity-45 ${LOOKS[look]} ${className}`}
    >
      {icon}
      {children}
    </button>
  );
  return <Hinted {...(command ? { command } : {})} {...(tip ? { tip } : {})} button={button} />;
}

/** A button that is only a sign: `label` is what it says aloud. */
export function IconButton({ label, children, className = "", ...rest }: Props & { label: string }) {
  return (
    <Button look="quiet" tip={label} aria-label={label} className={`w-7 px-0 ${className}`} {...rest}>
      {children}
    </Button>
  );
}

function Hinted({ command, tip, button }: { command?: CommandId; tip?: string; button: ReactElement }) {
  const own = useKeymap((state) => state.own);
  const key = command ? keyOf(command, own) : "";
  if (!key && !tip) return button;
  return (
    <Tip words={tip ?? ""} keys={key ? shown(key) : ""}>
      {button}
    </Tip>
  );
}
