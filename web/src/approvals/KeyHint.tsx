/** The shortcut of a command, shown on its button. */
import type { CommandId } from "@/keys/commands";
import { formatKey, keyOf, useKeymap } from "@/keys/keymap";

export function KeyHint({ command }: { command: CommandId }) {
  const own = useKeymap((state) => state.own);
  const key = keyOf(command, own);
  if (!key) return null;
  return (
    <span aria-hidden="true" className="text-small opacity-70 pointer-coarse:hidden">
      {formatKey(key)}
    </span>
  );
}
