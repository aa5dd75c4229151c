/** Views of tools: what each shows, and that none breaks whatever it is given. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import fc from "fast-check";
import { Tooltip } from "radix-ui";
import { act, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { COMPLETE } from "@/state/cuts";
import type { ToolRow } from "@/state/rows";
import { useUi } from "@/state/ui";
import { call } from "./call.fixture";
import { VIEWS, viewOf } from "./registry";

vi.mock("@/text/highlight", () => ({ useTokens: () => null, languageOf: () => "" }));

let root: Root;
let place: HTMLElement;

beforeEach(() => {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  useUi.setState({ diffSplit: false });
  place = document.createElement("div");
  document.body.append(place);
  root = createRoot(place);
});

afterEach(() => {
  act(() => root.unmount());
  place.remove();
  vi.unstubAllGlobals();
});

function draw(nodes: ReactNode): HTMLElement {
  act(() =>
    root.render(
      <QueryClientProvider client={new QueryClient()}>
        <Tooltip.Provider>{nodes}</Tooltip.Provider>
      </QueryClientProvider>,
    ),
  );
  return place;
}

function body(row: ToolRow): HTMLElement {
  const { Body } = viewOf(row.name);
  return draw(<Body row={row} sessionId="session-1" />);
}

function full(row: ToolRow): HTMLElement {
  const { Body, Full = Body } = viewOf(row.name);
  return draw(<Full row={row} sessionId="session-1" />);
}

function asks(name: string, input: Record<string, unknown>): HTMLElement {
  const ApprovalRequest = viewOf(name).request;
  if (!ApprovalRequest) throw new Error(`${name} is never asked about`);
  return draw(<ApprovalRequest input={input} sessionId="session-1" />);
}

const click = (element: Element | undefined) => act(() => (element as HTMLElement).click());
const button = (words: RegExp) =>
  [...place.querySelectorAll("button")].find((each) => words.test(each.textContent ?? ""));

const NAMES = [...VIEWS.keys(), "mcp__linear__create_issue", "mcp__", "Unheard", ""];
const FIELDS = [
  "command",
  "description",
  "file_path",
  "path",
  "pattern",
  "content",
  "old_string",
  "new_string",
  "edits",
  "todos",
  "questions",
  "answers",
  "prompt",
  "plan",
  "url",
  "query",
  "notebook_path",
  "cell_id",
  "new_source",
  "edit_mode",
  "bash_id",
  "offset",
  "limit",
  "skill",
  "args",
  "structuredPatch",
  "filePath",
  "file",
  "filenames",
  "stdout",
  "stderr",
  "results",
  "type",
  "code",
  "bytes",
  "original_file",
  "newTodos",
  "mode",
  "numFiles",
  "numLines",
  "status",
  "exitCode",
  "backgroundTaskId",
  "__proto__",
  "constructor",
];
const words = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    "",
    "\n",
    "a\nb",
    "x:1:y\n--\nx-2-z",
    "1\tone\n2\ttwo",
    "<img src=x onerror=alert(1)>",
    "\u202eabc",
    "[x](javascript:1)",
  ),
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: "small" },
    words,
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    tie("list"),
    tie("record"),
  ),
  list: fc.array(tie("any"), { maxLength: 4 }),
  record: fc.dictionary(fc.oneof(fc.constantFrom(...FIELDS), fc.string()), tie("any"), { maxKeys: 6 }),
}));
const record = value.record as fc.Arbitrary<Record<string, unknown>>;
const status = fc.constantFrom(
  "writing",
  "pending",
  "running",
  "completed",
  "error",
  "denied",
  "interrupted",
  "no_call",
);
const row = fc
  .record({
    name: fc.constantFrom(...NAMES),
    input: record,
    display: value.any,
    output: words,
    status: status as fc.Arbitrary<ToolRow["status"]>,
    pictures: fc.array(fc.record({ mediaType: words, data: words }), { maxLength: 2 }),
    malformed: words,
  })
  .map(({ name, ...change }) => call(name, change));

describe("whatever a call holds", () => {
  it("its line can be written", () => {
    fc.assert(
      fc.property(row, (each) => {
        const view = viewOf(each.name);
        expect(typeof view.title(each, "/home/me")).toBe("string");
        expect(view.title(each).length).toBeGreaterThan(0);
        view.inline?.(each);
      }),
      { numRuns: 500 },
    );
  });

  it("it can be drawn, open, in full, and as a question", { timeout: 30_000 }, () => {
    fc.assert(
      fc.property(row, (each) => {
        for (const shown of [
          body(each),
          full(each),
          viewOf(each.name).request ? asks(each.name, each.input) : place,
        ]) {
          expect(
            shown.querySelector("script, iframe, object, embed, style, link, form, svg[onload]"),
          ).toBeNull();
          for (const link of shown.querySelectorAll("a")) expect(link.href).toMatch(/^(https?|mailto):/);
          for (const image of shown.querySelectorAll("img"))
            expect(image.src).toMatch(/^data:image\/(png|jpeg|gif|webp);base64,/);
        }
      }),
      { numRuns: 80 },
    );
  });

  it("every tool can be shown with nothing, and says something", () => {
    for (const name of NAMES) {
      expect(viewOf(name).title(call(name))).not.toBe("");
      body(call(name, { status: "error", output: "it did not work" }));
      expect(place.textContent, name).toMatch(/it did not work/);
    }
  });
});

describe("Bash", () => {
  const long = Array.from({ length: 300 }, (_, at) => `line ${at + 1}`).join("\n");

  it("is its command in one line, with the first 80 characters of what it printed and how many lines that is", () => {
    const printed = call("Bash", {
      input: { command: "pytest -q\necho done" },
      output: `${"x".repeat(200)}\nlast`,
    });
    expect(viewOf("Bash").title(printed)).toBe("$ pytest -q");
    draw(viewOf("Bash").inline?.(printed));
    expect(place.textContent).toBe(`${"x".repeat(80)}… (2 lines)`);
  });

  it("counts all lines of an output, also of one that came without its middle", () => {
    const lines = (row: ToolRow) => {
      draw(viewOf("Bash").inline?.(row));
      return /\((.*)\)/.exec(place.textContent ?? "")?.[1];
    };
    expect(lines(call("Bash", { output: long, display: { outputLines: 5001 } }))).toBe("5,001 lines");
    const missing = { input: COMPLETE, output: { characters: 9_000, lines: 1_000 }, display: COMPLETE };
    expect(lines(call("Bash", { output: long, missing }))).toBe("1,300 lines");
  });

  it("open shows how a long output begins and ends, and all of it when asked", () => {
    body(call("Bash", { input: { command: "seq 300", description: "Count" }, output: long }));
    expect(place.textContent).toContain("Count");
    expect(place.textContent).toContain("line 24");
    expect(place.textContent).not.toContain("line 25");
    expect(place.textContent).toContain("line 300");
    click(button(/Show all 300 lines/));
    expect(place.textContent).toContain("line 150\n");
  });

  it("says that a command failed by its status and not by its words", () => {
    body(call("Bash", { input: { command: "grep error log" }, output: "error: all of it" }));
    expect(place.textContent).not.toContain("Failed");
    body(call("Bash", { input: { command: "true" }, output: "fine", status: "error" }));
    expect(place.textContent).toContain("Failed");
  });

  it("is asked about in full, with hidden characters named and nothing interpreted (FM-38)", () => {
    asks("Bash", {
      command: `echo \u202e**bold** \u001b[31mred\u200b\n${"y".repeat(20_000)}END`,
      outside_sandbox: true,
    });
    expect([...place.querySelectorAll("mark")].map((each) => each.textContent)).toEqual([
      "RLO",
      "^[",
      "ZWSP",
    ]);
    expect(place.textContent).toContain("**bold**");
    expect(place.textContent).toContain("END");
    expect(place.textContent).toContain("outside the sandbox");
  });
});

/** A line with the numbers before it, which are no text of the page. */
function numbered(line: Element): string {
  const numbers = [...line.querySelectorAll("[data-number]")].map((each) => each.getAttribute("data-number"));
  return `${numbers.join(" ")}|${line.textContent?.trimEnd()}`;
}

describe("Edit", () => {
  const patch = [
    {
      oldStart: 41,
      oldLines: 2,
      newStart: 41,
      newLines: 2,
      lines: [" def total(self):", "-  return sum(x)", "+  return total(x)"],
    },
  ];

  it("shows what the tool changed, with the numbers of the file, signs and the words that differ", () => {
    body(call("Edit", { input: { file_path: "/w/a.py" }, display: { structuredPatch: patch } }));
    const rows = [...place.querySelectorAll("figure [data-kind]")].map(numbered);
    expect(rows).toEqual(["41 41| def total(self):", "42 |-  return sum(x)", " 42|+  return total(x)"]);
    expect(place.querySelector(".bg-added-strong")?.textContent).toBe("total");
    expect(place.textContent).toContain("✓ Applied");
  });

  it("side by side has what went beside what came", () => {
    body(call("Edit", { input: { file_path: "/w/a.py" }, display: { structuredPatch: patch } }));
    click(button(/^Split$/));
    const left = [...place.querySelectorAll("[data-side=left]")].map(numbered);
    expect(left).toEqual(["41| def total(self):", "42|-  return sum(x)"]);
    click(button(/^Unified$/));
    expect(place.querySelector("[data-side]")).toBeNull();
  });

  it("is not applied where its status says so, though its words say otherwise (S000-76)", () => {
    const input = { file_path: "a", old_string: "a", new_string: "b" };
    body(call("Edit", { input, output: "applied without error", status: "error" }));
    expect(place.textContent).not.toContain("✓ Applied");
    body(call("Edit", { input, output: "the error is gone now" }));
    expect(place.textContent).toContain("✓ Applied");
    body(call("Edit", { input, status: "running" }));
    expect(place.textContent).not.toContain("✓");
  });

  it("before it is done shows what is asked for, without numbers that would be none of the file's", () => {
    const edits = [
      { old_string: "one", new_string: "two" },
      { old_string: "x", new_string: "y", replace_all: true },
    ];
    asks("MultiEdit", { file_path: "/w/<b>.py", edits });
    expect(place.textContent).toContain("/w/<b>.py");
    expect(place.textContent).toContain("Edit 2 of 2 · every occurrence");
    expect(place.querySelector("figure")?.className).toContain("[&_[data-number]]:hidden");
  });
});

describe("ApplyPatch", () => {
  const hunk = (line: string) => [
    { oldStart: 1, oldLines: 0, newStart: 1, newLines: 1, lines: [`+${line}`] },
  ];

  it("shows a diff of each file it changed, and says what became of the file", () => {
    const files = [
      { filePath: "/w/a.py", type: "update", structuredPatch: hunk("first") },
      { filePath: "/w/new.py", type: "create", structuredPatch: hunk("second") },
      { filePath: "/w/there.py", type: "move", movedFrom: "/w/here.py", structuredPatch: [] },
    ];
    const row = call("ApplyPatch", { display: { files, fileCount: 3 } });
    body(row);
    expect(viewOf("ApplyPatch").title(row, "/w")).toBe("Patch a.py and 2 more files");
    for (const words of ["first", "second", "new file", "moved from /w/here.py", "✓ Applied"])
      expect(place.textContent).toContain(words);
  });

  it("before it is done shows the patch, which is also what a person is asked about", () => {
    const input = { input: "*** Begin Patch\n*** Delete File: <b>.py\n*** End Patch" };
    const row = call("ApplyPatch", { input, status: "running" });
    body(row);
    expect(viewOf("ApplyPatch").title(row)).toBe("Patch <b>.py");
    expect(place.textContent).toContain("*** Delete File: <b>.py");
    asks("ApplyPatch", input);
    expect(place.querySelector("figure")?.textContent).toBe(input.input);
  });
});

describe("other tools", () => {
  it("Read shows lines with the numbers the tool printed, and leaves notes for the model apart", () => {
    const output = "41\tdef total():\n42\t\treturn 1\n\n<system-reminder>\nBe kind.\n</system-reminder>";
    body(call("Read", { input: { file_path: "/w/a.py", offset: 41, limit: 2 }, output }));
    expect(place.textContent).toContain("41def total():");
    expect(place.textContent).toContain("Notes for the model");
    expect(
      viewOf("Read").title(call("Read", { input: { file_path: "/w/a.py", offset: 41, limit: 2 } }), "/w"),
    ).toBe("Read a.py:41–42");
  });

  it("a long path is told by its end, as seen from where the session works", () => {
    const title = (path: string) =>
      viewOf("Read").title(call("Read", { input: { file_path: path } }), "/home/me/work");
    expect(title("/home/me/work/src/a.py")).toBe("Read src/a.py");
    expect(title("/home/me/workshop/a.py")).toBe("Read /home/me/workshop/a.py");
    expect(title(`/home/me/work/${"long/".repeat(20)}a.py`)).toBe(`Read …/${"long/".repeat(10)}a.py`);
    expect(title(`/${"x".repeat(300)}/a.py`)).toBe("Read …/a.py");
    expect(title("x".repeat(300))).toBe(`Read ${"x".repeat(300)}`);
  });

  it("Grep puts what matched under its file", () => {
    const output = "src/a-1-b.py:3:total\nsrc/a-1-b.py-4-more\n--\nsrc/c.py:9:total";
    body(call("Grep", { input: { pattern: "total", output_mode: "content" }, output }));
    expect(place.textContent).toContain("src/a-1-b.py 1");
    expect(place.textContent).toContain("3total");
    expect(place.textContent).toContain("4more");
    expect(place.textContent).toContain("src/c.py 1");
  });

  it("TodoWrite is a list with what is done, doing and to do, also said aloud", () => {
    const todos = [
      { content: "Look", status: "completed" },
      { content: "Fix", status: "in_progress", activeForm: "Fixing" },
      { content: "Test", status: "pending" },
    ];
    const row = call("TodoWrite", { input: { todos } });
    body(row);
    expect([...place.querySelectorAll("li")].map((each) => each.textContent)).toEqual([
      "✓Look(done)",
      "●Fixing(in progress)",
      "◦Test(to do)",
    ]);
    expect(viewOf("TodoWrite").title(row)).toBe("Tasks: 1 of 3 done");
  });

  it("a question shows which answer was given", () => {
    const questions = [{ question: "Which?", options: [{ label: "SQLite" }, { label: "Postgres" }] }];
    body(call("AskUserQuestion", { input: { questions }, display: { answers: { "Which?": "Postgres" } } }));
    expect([...place.querySelectorAll("li")].map((each) => each.textContent)).toEqual([
      "SQLite",
      "✓Postgres (selected)",
    ]);
  });

  it("a tool of an MCP server is named by both, and its pictures are drawn only if they are pictures", () => {
    const svg = { mediaType: "image/svg+xml", data: "PHN2Zz4=" };
    body(call("mcp__my_server__draw__it", { images: [{ mediaType: "image/png", data: "iVBORw0=" }, svg] }));
    expect(viewOf("mcp__my_server__draw__it").title(call(""))).toBe("my_server · draw__it");
    expect(place.querySelectorAll("img")).toHaveLength(1);
    expect(place.textContent).toContain("1 image of an unsupported type");
  });

  it("links of the web only are links", () => {
    const results = [
      { title: "Good", url: "https://a.example/x" },
      { title: "Bad", url: "javascript:alert(1)" },
    ];
    body(call("WebSearch", { input: { query: "x" }, display: { results } }));
    expect([...place.querySelectorAll("a")].map((each) => [each.textContent, each.rel])).toEqual([
      ["Good", "noreferrer noopener"],
    ]);
  });

  it("what was cut on the way says how much is missing, and asks the server for all of it", async () => {
    const asked: string[] = [];
    vi.stubGlobal("fetch", async (request: Request) => {
      asked.push(new URL(request.url).pathname);
      if (request.url.includes("/blobs/")) return new Response("all of the output");
      const found = {
        id: "call-1",
        name: "Bash",
        status: "completed",
        input: { command: "make" },
        output: "",
        display: null,
      };
      return Response.json(found);
    });
    const output = `${"a".repeat(12_288)}\n… 5,000 characters not shown …\n${"b".repeat(4_096)}`;
    const missing = { input: COMPLETE, output: { characters: 5000, lines: 98 }, display: COMPLETE };
    body(call("Bash", { input: { command: "make" }, output, missing }));
    expect(place.textContent).toContain("5,000 characters not shown.");
    click(button(/Load all/));
    await vi.waitFor(() => act(() => expect(place.textContent).toContain("all of the output")));
    expect(asked.sort()).toEqual([
      "/api/v1/sessions/session-1/blobs/call-1",
      "/api/v1/sessions/session-1/calls/call-1",
    ]);
    expect(place.textContent).not.toContain("not shown");
  });
});

it("a change somebody decides on is shown to the end of its last and longest line (FM-38)", {
  timeout: 30_000,
}, () => {
  const content = `${"x".repeat(50_000)}END\n${Array.from({ length: 2_200 }, (_, at) => `line ${at}`).join("\n")}\nLAST`;
  asks("Write", { file_path: "a.js", content });
  expect(place.textContent).toContain("END");
  expect(place.textContent).toContain("LAST");
  expect(button(/more/)).toBeUndefined();
});
