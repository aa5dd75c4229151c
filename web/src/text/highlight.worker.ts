/** Worker that highlights code, off the main thread. */
import { createCssVariablesTheme, createHighlighterCore, type HighlighterCore } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";
import { LANGUAGES } from "./languages";

export interface HighlightRequest {
  id: number;
  text: string;
  language: string;
}

export interface HighlightResult {
  id: number;
  /** Lines of alternating text and colour; null if it failed. */
  lines: string[][] | null;
}

const THEME = "page";
let made: Promise<HighlighterCore> | null = null;

self.onmessage = async ({ data }: MessageEvent<HighlightRequest>) => {
  const answer: HighlightResult = {
    id: data.id,
    lines: await colour(data.text, data.language).catch(() => null),
  };
  self.postMessage(answer);
};

async function colour(text: string, language: string): Promise<string[][] | null> {
  const load = LANGUAGES[language];
  if (!load) return null;
  made ??= createHighlighterCore({
    themes: [createCssVariablesTheme({ name: THEME })],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  const highlighter = await made;
  const known = await load();
  await highlighter.loadLanguage(known.default);
  const name = known.default.at(-1)?.name ?? language;
  const lines = highlighter.codeToTokensBase(text, {
    lang: name,
    theme: THEME,
    tokenizeMaxLineLength: 2000,
    tokenizeTimeLimit: 200,
  });
  return lines.map((line) => line.flatMap((token) => [token.content, token.color ?? ""]));
}
