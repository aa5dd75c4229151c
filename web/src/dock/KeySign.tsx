/** The key of a command on its button: decisions are made by hands that do not look for it. */
import type { CommandId } from "@/keys/commands";
import { keyOf, shown, useKeymap } from "@/keys/keymap";

export function KeySign({ command }: { command: CommandId }) {
  const own = useKeymap((state) => state.own);
  const key = keyOf(command, own);
  if (!key) return null;
  return (
    <span aria-hidden="true" className="text-small opacity-70 pointer-coarse:hidden">
      {shown(key)}
    </span>
  );
}
