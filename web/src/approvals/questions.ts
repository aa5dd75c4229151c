/** Questions with options: parsing, selection, and the answers that are sent. */

export interface Option {
  label: string;
  description: string;
  preview: string;
}

export interface Question {
  question: string;
  header: string;
  options: Option[];
  multi: boolean;
}

export interface Selection {
  labels: readonly string[];
  /** A free-text answer. */
  text: string;
}

export const NOTHING: Selection = { labels: [], text: "" };

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Model output may be malformed: invalid questions are dropped. */
export function questionsOf(input: Record<string, unknown>): Question[] {
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

/** Selects an option, or toggles it if several are allowed. */
export function choose(asked: Question, chosen: Selection, label: string): Selection {
  if (!asked.multi) return { labels: [label], text: "" };
  const has = chosen.labels.includes(label);
  return {
    ...chosen,
    labels: has ? chosen.labels.filter((each) => each !== label) : [...chosen.labels, label],
  };
}

export function typeAnswer(asked: Question, chosen: Selection, answer: string): Selection {
  return { labels: asked.multi || !answer ? chosen.labels : [], text: answer };
}

export function isAnswered(chosen: Selection | undefined): boolean {
  return Boolean(chosen && (chosen.labels.length > 0 || chosen.text.trim()));
}

export function answersOf(
  asked: readonly Question[],
  chosen: Record<string, Selection>,
): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const each of asked) {
    const { labels, text: answer } = chosen[each.question] ?? NOTHING;
    const all = answer.trim() ? [...labels, answer.trim()] : [...labels];
    if (all.length > 0) found[each.question] = each.multi ? all : all[0];
  }
  return found;
}
