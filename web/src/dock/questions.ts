/** Questions with ready answers: what was asked, what was chosen, and what is sent for it. */

export interface Option {
  label: string;
  description: string;
  preview: string;
}

export interface Asked {
  question: string;
  header: string;
  options: Option[];
  multi: boolean;
}

export interface Chosen {
  labels: readonly string[];
  /** Something else, in one's own words. */
  text: string;
}

export const NOTHING: Chosen = { labels: [], text: "" };

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** What a model sent is not always as it should be: what cannot be asked is left out. */
export function questionsOf(input: Record<string, unknown>): Asked[] {
  if (!Array.isArray(input.questions)) return [];
  return input.questions.flatMap((each: unknown) => {
    const { question, header, options, multiSelect } = (each ?? {}) as Record<string, unknown>;
    if (!text(question)) return [];
    const found = Array.isArray(options) ? options.flatMap(optionOf) : [];
    return [{ question: text(question), header: text(header), options: found, multi: multiSelect === true }];
  });
}

function optionOf(option: unknown): Option[] {
  if (typeof option === "string") return [{ label: option, description: "", preview: "" }];
  const { label, description, preview } = (option ?? {}) as Record<string, unknown>;
  return text(label) ? [{ label: text(label), description: text(description), preview: text(preview) }] : [];
}

/** One of several, or one more of several. */
export function choose(asked: Asked, chosen: Chosen, label: string): Chosen {
  if (!asked.multi) return { labels: [label], text: "" };
  const has = chosen.labels.includes(label);
  return {
    ...chosen,
    labels: has ? chosen.labels.filter((each) => each !== label) : [...chosen.labels, label],
  };
}

export function write(asked: Asked, chosen: Chosen, words: string): Chosen {
  return { labels: asked.multi || !words ? chosen.labels : [], text: words };
}

export function isAnswered(chosen: Chosen | undefined): boolean {
  return Boolean(chosen && (chosen.labels.length > 0 || chosen.text.trim()));
}

export function answersOf(asked: readonly Asked[], chosen: Record<string, Chosen>): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const each of asked) {
    const { labels, text: words } = chosen[each.question] ?? NOTHING;
    const all = words.trim() ? [...labels, words.trim()] : [...labels];
    if (all.length > 0) found[each.question] = each.multi ? all : all[0];
  }
  return found;
}
