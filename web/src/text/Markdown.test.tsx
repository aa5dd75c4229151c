import { Tooltip } from "radix-ui";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { Markdown } from "./Markdown";

const shown = (text: string) =>
  renderToStaticMarkup(
    <Tooltip.Provider>
      <Markdown text={text} streaming={false} />
    </Tooltip.Provider>,
  );

test.each([
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "a <b onclick=alert(1)>b</b>",
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](java&#115;cript:alert(1))",
  "[x](data:text/html;base64,PHNjcmlwdD4=)",
  "[x](vbscript:x) [y](file:///etc/passwd) [z](blob:https://x)",
  "<javascript:alert(1)>",
  "![x](javascript:alert(1))",
  "![x](data:image/svg+xml,<svg onload=alert(1)>)",
  "[x]: javascript:alert(1)\n\n[x]",
  '[x](https://user:pass@bank.example "onmouseover=alert(1)")',
])("%j does nothing", (text) => {
  const html = shown(text);
  expect(html).not.toMatch(/<(script|img|iframe|svg [^>]*onload|b onclick)/);
  expect(html).not.toMatch(/href="(?!https?:|mailto:)/);
  expect(html).not.toMatch(/href="[^"]*@bank/);
  expect(html).not.toMatch(/ on[a-z]+="/);
});

test("links of the web and of mail are links, elsewhere opened, without telling from where", () => {
  expect(shown("[a](https://example.org/x) <me@example.org>")).toContain(
    'href="https://example.org/x" target="_blank" rel="noreferrer noopener"',
  );
  expect(shown("<me@example.org>")).toContain('href="mailto:me@example.org"');
});

test("pictures from elsewhere are named, not fetched", () => {
  const html = shown("![chart](https://cdn.example.org/a.png)");
  expect(html).toContain("not loaded, opens cdn.example.org");
  expect(html).not.toContain("<img");
});

test("character references are the characters they stand for, and no more", () => {
  expect(shown("a &lt;b&gt; &amp;amp; &#x41; &unknown;")).toContain("a &lt;b&gt; &amp;amp; A &amp;unknown;");
});

test("diagrams and formulas are shown as they were written", () => {
  expect(shown("```mermaid\ngraph TD; A-->B\n```")).toContain("graph TD; A--&gt;B");
  expect(shown("$E = mc^2$")).toContain("$E = mc^2$");
});
