import { act } from "react";
import { createRoot } from "react-dom/client";
import { expect, test } from "vitest";
import type { CommandId } from "./commands";
import { useKeymap } from "./keymap";
import { listenForKeys, useCommand } from "./useCommand";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

function Does({ id, run }: { id: CommandId; run: () => void }) {
  useCommand(id, run);
  return null;
}

async function counted(id: CommandId, key: string, repeats: number): Promise<number> {
  let count = 0;
  const stop = listenForKeys();
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

function press(target: EventTarget, key: string, ctrlKey = false): boolean {
  const event = new KeyboardEvent("keydown", { key, ctrlKey, bubbles: true, cancelable: true });
  target.dispatchEvent(event);
  return event.defaultPrevented;
}

async function whileStopCan(act_: (area: HTMLTextAreaElement) => void): Promise<number> {
  let count = 0;
  const stop = listenForKeys();
  const root = createRoot(document.createElement("div"));
  const area = document.body.appendChild(document.createElement("textarea"));
  await act(async () => root.render(<Does id="stop" run={() => (count += 1)} />));
  act_(area);
  await act(async () => root.unmount());
  area.remove();
  stop();
  return count;
}

test("keys that edit a text stay with who types, whatever a person bound them to", async () => {
  useKeymap.getState().bind("stop", "ctrl+x");
  const stopped = await whileStopCan((area) => {
    for (const key of "xcvza") expect(press(area, key, true)).toBe(false);
  });
  useKeymap.getState().reset();
  expect(stopped).toBe(0);
});

test("Escape twice stops from the message field, and in no other field", async () => {
  const twice = (area: HTMLElement) => {
    press(area, "Escape");
    press(area, "Escape");
  };
  expect(await whileStopCan(twice)).toBe(0);
  expect(
    await whileStopCan((area) => {
      area.dataset.message = "";
      twice(area);
    }),
  ).toBe(1);
  expect(await whileStopCan((area) => press(area, ".", true))).toBe(1);
});
