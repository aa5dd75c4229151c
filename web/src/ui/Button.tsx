/** Buttons, with the shortcut of their command in the tooltip. */
import type { ButtonHTMLAttributes, ReactElement, ReactNode } from "react";
import type { CommandId } from "@/keys/commands";
import { formatKey, keyOf, useKeymap } from "@/keys/keymap";
import { Tooltip } from "./Tooltip";

export type ButtonStyle = "plain" | "quiet" | "primary" | "danger" | "needs";

const LOOKS: Record<ButtonStyle, string> = {
  plain: "bg-surface-2 hover:bg-surface-3 text-ink-1",
  quiet: "text-ink-2 hover:bg-surface-2 hover:text-ink-1",
  primary: "bg-accent text-on-accent hover:opacity-90",
  danger: "bg-failed-soft text-failed hover:bg-failed hover:text-surface-0",
  needs: "bg-needs-fill text-on-needs hover:opacity-90",
};

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: ButtonStyle;
  /** The command it runs; its shortcut is shown. */
  command?: CommandId;
  /** Tooltip text, where the label does not say enough. */
  tooltip?: string;
  icon?: ReactNode;
}

export function Button({ look = "plain", command, tooltip, icon, children, className = "", ...rest }: Props) {
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
  return <WithTooltip {...(command ? { command } : {})} {...(tooltip ? { tooltip } : {})} button={button} />;
}

/** An icon button; `label` is its accessible name. */
export function IconButton({ label, children, className = "", ...rest }: Props & { label: string }) {
  return (
    <Button look="quiet" tooltip={label} aria-label={label} className={`w-7 px-0 ${className}`} {...rest}>
      {children}
    </Button>
  );
}

function WithTooltip({
  command,
  tooltip,
  button,
}: {
  command?: CommandId;
  tooltip?: string;
  button: ReactElement;
}) {
  const own = useKeymap((state) => state.own);
  const key = command ? keyOf(command, own) : "";
  if (!key && !tooltip) return button;
  return (
    <Tooltip text={tooltip ?? ""} keys={key ? formatKey(key) : ""}>
      {button}
    </Tooltip>
  );
}
