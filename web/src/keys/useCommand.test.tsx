import { act } from "react";
import { createRoot } from "react-dom/client";
import { expect, test } from "vitest";
import type { CommandId } from "./commands";
import { listen, useCommand } from "./useCommand";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

function Does({ id, run }: { id: CommandId; run: () => void }) {
  useCommand(id, run);
  return null;
}

async function counted(id: CommandId, key: string, repeats: number): Promise<number> {
  let count = 0;
  const stop = listen();
  const root = createRoot(document.createElement("div"));
  const run = () => {
    count += 1;
  };
  await act(async () => root.render(<Does id={id} run={run} />));
  for (let time = 0; time <= repeats; time += 1)
    window.dispatchEvent(new KeyboardEvent("keydown", { key, repeat: time > 0, cancelable: true }));
  await act(async () => root.unmount());
  stop();
  return count;
}

test("a key that is held down decides once, however long it is held (FM-38)", async () => {
  expect(await counted("approve", "a", 30)).toBe(1);
  expect(await counted("deny", "d", 30)).toBe(1);
});

test("a key that is held down goes on down a list", async () => {
  expect(await counted("list.down", "j", 5)).toBe(6);
});
