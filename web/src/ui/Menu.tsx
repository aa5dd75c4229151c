/** Menu button. Arrows, Home, End and letters move; Escape and a press outside close it. */
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
import { formatKey, keyOf } from "@/keys/keymap";
import { Icon, type IconName } from "./Icon";
import { Kbd } from "./Kbd";
import { closeOnOutsidePress, handleMenuKeys, menuItems } from "./menuKeys";
import { openPopover, popoverContainer, positionBeside } from "./popover";

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
  /** Opened by keyboard: the first or last item gets the focus. */
  focus: "first" | "last" | "none";
}

const Close = createContext<() => void>(() => undefined);

interface MenuProps {
  /** A button that passes its attributes on to its element. */
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
        // A click with `detail` 0 comes from the keyboard or from assistive technology.
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
  /** Id of the element that labels it. */
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
    openPopover(element);
    const reposition = () => {
      element.style.maxHeight = "";
      const { left, top, maxHeight } = positionBeside(anchor, element, "below", align);
      Object.assign(element.style, {
        left: `${left}px`,
        top: `${top}px`,
        maxHeight: `min(70vh, ${maxHeight}px)`,
      });
    };
    reposition();
    const items = menuItems(element);
    const first = focus === "none" ? element : focus === "first" ? items[0] : items.at(-1);
    (first ?? element).focus({ preventScroll: true });
    const close = () => newest.current();
    const stops = [
      handleMenuKeys(element, close),
      closeOnOutsidePress(element, close),
      trackAnchor(anchor, reposition),
    ];
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
      // These events are not meant for the ancestors of the button.
      onClick={(event) => event.stopPropagation()}
      onKeyDown={(event) => event.stopPropagation()}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (relatedTarget && !currentTarget.contains(relatedTarget)) onClose(false);
      }}
    >
      <Close value={() => onClose()}>{children}</Close>
    </div>,
    popoverContainer(anchor),
  );
}

/** Keeps the menu at the button while the page scrolls or is resized. */
function trackAnchor(anchor: HTMLElement, reposition: () => void): () => void {
  const scrolled = (event: Event) => {
    if (event.target instanceof Node && event.target.contains(anchor)) reposition();
  };
  window.addEventListener("resize", reposition);
  window.addEventListener("scroll", scrolled, true);
  return () => {
    window.removeEventListener("resize", reposition);
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
      {key && <Kbd keys={formatKey(key)} />}
    </Row>
  );
}

/** Radio items: the selected one has a tick, each may have a description. */
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

/** A heading above a group of items. */
export function MenuLabel({ children }: { children: ReactNode }) {
  return <div className="px-2 py-1 text-small text-ink-3">{children}</div>;
}

export function MenuSeparator() {
  return <hr className="my-1 h-px border-0 bg-line" />;
}
