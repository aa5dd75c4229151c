/** A text field that proposes: arrows choose, Enter or Tab takes, Escape keeps what was typed. Anything may be typed. */
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from "react";
import { INPUT } from "./Field";

export interface Proposal {
  value: string;
  /** Shown beside it. */
  about?: ReactNode;
  /** Taking it goes on asking: a directory in which there are others. */
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

export function Combo(props: Props) {
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
          proposals.map((each, place) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and the keys
            // biome-ignore lint/a11y/useFocusableInteractive: the field points to it by its id
            <div
              key={each.value}
              id={`${list}-${place}`}
              role="option"
              aria-selected={place === at}
              ref={place === at ? intoView : undefined}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => take(each)}
              className={`target flex min-h-7 items-center gap-3 rounded px-2 ${place === at ? "bg-surface-3" : "hover:bg-surface-2"} ${mono ? "font-mono text-code" : ""}`}
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
