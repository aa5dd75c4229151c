/** Combobox: arrows choose a proposal, Enter or Tab accepts it, Escape keeps the typed text. Any text is allowed. */
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from "react";
import { INPUT } from "./Field";

export interface Proposal {
  value: string;
  /** Shown beside it. */
  about?: ReactNode;
  /** The list stays open after accepting it: a directory that contains others. */
  more?: boolean;
}

interface Props {
  value: string;
  onChange: (value: string) => void;
  proposals: Proposal[];
  label: string;
  placeholder?: string;
  mono?: boolean;
  given: { id: string; "aria-invalid"?: true; "aria-describedby"?: string };
}

export function Combobox(props: Props) {
  const { value, onChange, proposals, label, placeholder = "", mono = false, given } = props;
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const list = useId();
  const field = useRef<HTMLInputElement>(null);
  const shown = open && proposals.length > 0;
  const take = (proposal: Proposal) => {
    onChange(proposal.value);
    setAt(-1);
    setOpen(proposal.more === true);
    field.current?.focus();
  };
  const key = (event: KeyboardEvent) => {
    const chosen = shown ? proposals[at] : undefined;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      const step = event.key === "ArrowDown" ? 1 : -1;
      setAt((now) => Math.max(-1, Math.min(proposals.length - 1, now + step)));
    } else if (event.key === "Escape" && shown) {
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
    } else if (chosen && (event.key === "Enter" || event.key === "Tab") && !event.metaKey && !event.ctrlKey) {
      event.preventDefault();
      take(chosen);
    }
  };
  return (
    <div className="relative">
      <input
        {...given}
        ref={field}
        role="combobox"
        aria-expanded={shown}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={shown && at >= 0 ? `${list}-${at}` : undefined}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={value}
        placeholder={placeholder}
        onChange={(event) => {
          onChange(event.target.value);
          setOpen(true);
          setAt(-1);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={key}
        className={`${INPUT} ${mono ? "font-mono text-code" : ""}`}
      />
      <div
        id={list}
        role="listbox"
        aria-label={label}
        hidden={!shown}
        className="absolute inset-x-0 top-full z-30 mt-1 max-h-64 overflow-y-auto rounded-box border border-line bg-surface-1 p-1 shadow-float"
      >
        {shown &&
          proposals.map((each, position) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and handles the keys
            // biome-ignore lint/a11y/useFocusableInteractive: the field points to it by its id
            <div
              key={each.value}
              id={`${list}-${position}`}
              role="option"
              aria-selected={position === at}
              ref={position === at ? intoView : undefined}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => take(each)}
              className={`target flex min-h-7 items-center gap-3 rounded px-2 ${position === at ? "bg-surface-3" : "hover:bg-surface-2"} ${mono ? "font-mono text-code" : ""}`}
            >
              <bdi className="min-w-0 flex-1 truncate">{each.value}</bdi>
              {each.about && <span className="shrink-0 font-sans text-small text-ink-3">{each.about}</span>}
            </div>
          ))}
      </div>
    </div>
  );
}

function intoView(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}
