/** Keyboard shortcuts: change, remove or reset each one. */
import { type KeyboardEvent as ReactKeyboardEvent, useState } from "react";
import { BY_ID, COMMANDS, type CommandId, type Group as KeyGroup } from "@/keys/commands";
import { formatKey, keyConflicts, keyFromEvent, keyOf, useKeymap } from "@/keys/keymap";
import { Button, IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { Kbd } from "@/ui/Kbd";
import { Group, Row, Rows, SettingsSection } from "./SettingsSection";

const GROUPS: KeyGroup[] = ["Anywhere", "Lists", "Session", "Decisions", "Transcript", "Panels"];

export function KeyboardShortcuts() {
  const own = useKeymap((state) => state.own);
  const reset = useKeymap((state) => state.reset);
  const clashing = keyConflicts(own);
  return (
    <SettingsSection
      title="Keyboard shortcuts"
      about="Click a shortcut and press a key. Shortcuts are off while you type, except those with Ctrl, Alt or ⌘. Stored in this browser."
    >
      {Object.keys(own).length > 0 && <Button onClick={() => reset()}>Reset all</Button>}
      {GROUPS.map((group) => (
        <Group key={group} title={group}>
          <Rows label={group}>
            {COMMANDS.filter((each) => each.group === group).map(({ id }) => (
              <OneKey key={id} id={id} own={own[id] !== undefined} others={othersOf(id, clashing)} />
            ))}
          </Rows>
        </Group>
      ))}
    </SettingsSection>
  );
}

function othersOf(id: CommandId, clashing: Map<string, CommandId[]>): CommandId[] {
  return (clashing.get(keyOf(id)) ?? []).filter((each) => each !== id);
}

function OneKey({ id, own, others }: { id: CommandId; own: boolean; others: CommandId[] }) {
  const { bind, reset } = useKeymap.getState();
  const key = useKeymap((state) => keyOf(id, state.own));
  const [listening, setListening] = useState(false);
  const { title } = BY_ID[id];
  const hear = (event: ReactKeyboardEvent) => {
    if (!listening) return;
    event.preventDefault();
    event.stopPropagation();
    const name = keyFromEvent(event.nativeEvent);
    if (!name) return;
    setListening(false);
    if (name === "escape") return;
    bind(id, name === "backspace" || name === "delete" ? "" : name);
  };
  return (
    <Row
      actions={
        <>
          <button
            type="button"
            aria-label={`Key for ${title}: ${listening ? "press one now" : key ? formatKey(key) : "none"}`}
            onClick={() => setListening(true)}
            onBlur={() => setListening(false)}
            onKeyDown={hear}
            className={`target h-7 min-w-24 rounded-box px-2 text-right hover:bg-surface-2 ${listening ? "bg-accent-soft" : ""}`}
          >
            {listening ? (
              "Press a key"
            ) : key ? (
              <Kbd keys={formatKey(key)} />
            ) : (
              <span className="text-ink-3">none</span>
            )}
          </button>
          <span className="w-7">
            {own && (
              <IconButton label={`Reset key for ${title}`} onClick={() => reset(id)}>
                <Icon name="retry" size={14} />
              </IconButton>
            )}
          </span>
        </>
      }
    >
      {title}
      {listening && (
        <span role="status" className="block text-small text-ink-3">
          Escape cancels, Backspace removes the shortcut.
        </span>
      )}
      {others.length > 0 && (
        <span className="block text-small text-needs">
          ◆ Also used for {others.map((each) => `“${BY_ID[each].title}”`).join(" and ")}
        </span>
      )}
    </Row>
  );
}
