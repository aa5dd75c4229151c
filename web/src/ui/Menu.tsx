/** A menu that hangs from a button. Arrows, Home, End and letters go through it; Escape and a press beside it close it. */
import {
  type AriaAttributes,
  cloneElement,
  createContext,
  type KeyboardEvent,
  type MouseEvent,
  type ReactElement,
  type ReactNode,
  useContext,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { createPortal } from "react-dom";
import type { CommandId } from "@/keys/commands";
import { keyOf, shown } from "@/keys/keymap";
import { besideElement, homeOf, raise } from "./beside";
import { Icon, type IconName } from "./Icon";
import { Keys } from "./Keys";
import { itemsOf, takeKeys, takePresses } from "./menuKeys";

const BOX =
  "fixed inset-auto m-0 max-h-[70vh] min-w-44 max-w-[min(24rem,calc(100vw-1rem))] overflow-auto overscroll-contain rounded-box border border-line bg-surface-1 p-1 text-chrome font-normal whitespace-normal text-ink-1 shadow-float outline-none";
const ITEM =
  "target flex w-full min-h-7 cursor-default text-left items-center gap-2 rounded px-2 py-1 outline-none select-none aria-disabled:opacity-45 focus:bg-surface-3";

type Align = "start" | "end";

interface TriggerProps extends AriaAttributes {
  id?: string;
  onClick?: (event: MouseEvent<HTMLElement>) => void;
  onKeyDown?: (event: KeyboardEvent<HTMLElement>) => void;
}

interface Opened {
  anchor: HTMLElement;
  /** By a key: then one of its items has the focus from the start. */
  focus: "first" | "last" | "none";
}

const Close = createContext<() => void>(() => undefined);

interface MenuProps {
  /** A button that hands its attributes on to the element. */
  trigger: ReactElement;
  label: string;
  align?: Align;
  children: ReactNode;
}

export function Menu({ trigger, label, align = "end", children }: MenuProps) {
  const [opened, setOpened] = useState<Opened | null>(null);
  const id = useId();
  const button = trigger as ReactElement<TriggerProps>;
  const own = button.props.id ?? id;
  const close = (focus = true) => {
    setOpened(null);
    if (focus) opened?.anchor.focus({ preventScroll: true });
  };
  return (
    <>
      {cloneElement(button, {
        id: own,
        "aria-haspopup": "menu",
        "aria-expanded": opened !== null,
        ...(opened ? { "aria-controls": `${id}-menu` } : {}),
        // A click without a pointer is a key, or somebody who is helped by a machine.
        onClick: ({ currentTarget, detail }) =>
          setOpened(opened ? null : { anchor: currentTarget, focus: detail === 0 ? "first" : "none" }),
        onKeyDown: (event) => {
          if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
          event.preventDefault();
          setOpened({ anchor: event.currentTarget, focus: event.key === "ArrowDown" ? "first" : "last" });
        },
      })}
      {opened && (
        <MenuBox id={`${id}-menu`} named={own} label={label} align={align} opened={opened} onClose={close}>
          {children}
        </MenuBox>
      )}
    </>
  );
}

interface BoxProps {
  id: string;
  /** The element whose words are its name. */
  named: string;
  label: string;
  align: Align;
  opened: Opened;
  onClose: (focus?: boolean) => void;
  children: ReactNode;
}

function MenuBox({ id, named, label, align, opened, onClose, children }: BoxProps) {
  const { anchor, focus } = opened;
  const box = useRef<HTMLDivElement>(null);
  const newest = useRef(onClose);
  newest.current = onClose;
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    raise(element);
    const place = () => {
      element.style.maxHeight = "";
      const { left, top, room } = besideElement(anchor, element, "below", align);
      Object.assign(element.style, { left: `${left}px`, top: `${top}px`, maxHeight: `min(70vh, ${room}px)` });
    };
    place();
    const items = itemsOf(element);
    const first = focus === "none" ? element : focus === "first" ? items[0] : items.at(-1);
    (first ?? element).focus({ preventScroll: true });
    const close = () => newest.current();
    const stops = [takeKeys(element, close), takePresses(element, close), follow(anchor, place)];
    return () => {
      for (const stop of stops) stop();
    };
  }, [anchor, focus, align]);
  return createPortal(
    <div
      ref={box}
      id={id}
      role="menu"
      popover="manual"
      tabIndex={-1}
      aria-label={label}
      aria-labelledby={named}
      className={BOX}
      // Nothing of this is meant for what the button stands in.
      onClick={(event) => event.stopPropagation()}
      onKeyDown={(event) => event.stopPropagation()}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (relatedTarget && !currentTarget.contains(relatedTarget)) onClose(false);
      }}
    >
      <Close value={() => onClose()}>{children}</Close>
    </div>,
    homeOf(anchor),
  );
}

/** Stays at the button when that moves. */
function follow(anchor: HTMLElement, place: () => void): () => void {
  const scrolled = (event: Event) => {
    if (event.target instanceof Node && event.target.contains(anchor)) place();
  };
  window.addEventListener("resize", place);
  window.addEventListener("scroll", scrolled, true);
  return () => {
    window.removeEventListener("resize", place);
    window.removeEventListener("scroll", scrolled, true);
  };
}

interface RowProps {
  role: "menuitem" | "menuitemradio";
  checked?: boolean;
  disabled: boolean;
  className?: string;
  onSelect: () => void;
  children: ReactNode;
}

function Row({ role, checked, disabled, className = "", onSelect, children }: RowProps) {
  const close = useContext(Close);
  return (
    <button
      type="button"
      role={role}
      tabIndex={-1}
      {...(checked === undefined ? {} : { "aria-checked": checked })}
      {...(disabled ? { "aria-disabled": true } : {})}
      className={`${ITEM} ${className}`}
      onPointerMove={({ currentTarget, pointerType }) => {
        if (pointerType === "mouse" && !disabled && document.activeElement !== currentTarget)
          currentTarget.focus({ preventScroll: true });
      }}
      onClick={() => {
        if (disabled) return;
        close();
        onSelect();
      }}
    >
      {children}
    </button>
  );
}

interface ItemProps {
  icon?: IconName;
  command?: CommandId;
  danger?: boolean;
  disabled?: boolean;
  onSelect: () => void;
  children: ReactNode;
}

export function MenuItem({ icon, command, danger = false, disabled = false, onSelect, children }: ItemProps) {
  const key = command ? keyOf(command) : "";
  return (
    <Row role="menuitem" disabled={disabled} onSelect={onSelect} className={danger ? "text-failed" : ""}>
      {icon && <Icon name={icon} />}
      <span className="min-w-0 flex-1">{children}</span>
      {key && <Keys keys={shown(key)} />}
    </Row>
  );
}

/** One of several: the chosen one has a tick, each may say in a line what it means. */
export function MenuChoice<T extends string>({
  value,
  choices,
  onChange,
}: {
  value: T;
  choices: readonly { value: T; label: string; about?: string; disabled?: boolean }[];
  onChange: (value: T) => void;
}) {
  return choices.map((choice) => (
    <Row
      key={choice.value}
      role="menuitemradio"
      checked={choice.value === value}
      disabled={choice.disabled === true}
      onSelect={() => onChange(choice.value)}
      className="items-start"
    >
      <span className="mt-0.5 w-4">{choice.value === value && <Icon name="check" />}</span>
      <span className="min-w-0 flex-1">
        {choice.label}
        {choice.about && <span className="block text-small text-ink-3">{choice.about}</span>}
      </span>
    </Row>
  ));
}

/** Words above what they are about. */
export function MenuLabel({ children }: { children: ReactNode }) {
  return <div className="px-2 py-1 text-small text-ink-3">{children}</div>;
}

export function MenuLine() {
  return <hr className="my-1 h-px border-0 bg-line" />;
}
