import { Tooltip } from "radix-ui";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { expect, test, vi } from "vitest";
import { useApp } from "@/state/app";
import { byId, session } from "@/state/session.fixture";
import { Transcript } from "@/state/transcript";
import type { Entry } from "@/stream/frames";
import { LineView } from "./LineView";
import { FirstPrompt } from "./rows/SendingRow";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

function note(seq: number, text: unknown): Entry {
  const event = { type: "noted", text, level: "info" } as Entry["event"];
  return { seq, id: `n${seq}`, parent: "", at: seq, event, agent: "", parentCall: "" };
}

test("a row that cannot be drawn says so in its own place, and the others are there", () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const transcript = new Transcript("t");
  transcript.load([note(1, "before"), note(2, { not: "a text" }), note(3, "after")], "epoch");
  const place = document.createElement("div");
  const root = createRoot(place);
  act(() =>
    root.render(
      <Tooltip.Provider>
        {transcript.fold.items.map((item, index) => (
          <LineView
            key={item.id}
            transcript={transcript}
            item={item}
            position={index}
            line={() => undefined}
          />
        ))}
      </Tooltip.Provider>,
    ),
  );
  expect(place.textContent).toContain("before");
  expect(place.textContent).toContain("This row cannot be shown");
  expect(place.textContent).toContain("after");
  act(() => root.unmount());
});

test("a session that has just begun shows what it began with before its log has come; an older one does not", () => {
  const place = document.createElement("div");
  const root = createRoot(place);
  const begun = (seconds: number) => {
    const created_at = Date.now() / 1000 - seconds;
    useApp.setState({ sessions: byId(session("s", { first_prompt: "Fix the <test>", created_at })) });
    act(() => root.render(<FirstPrompt key={seconds} sessionId="s" />));
    return place.textContent;
  };
  expect(begun(1)).toBe("YouFix the <test>");
  expect(begun(3600)).toBe("");
  act(() => root.unmount());
});
