/** AskUserQuestion call: the questions and the answers. */
import { keyed } from "@/diff/keyed";
import type { ToolRow } from "@/state/rows";
import { VisibleText } from "@/ui/VisibleText";
import { Aside } from "./parts/Aside";
import { fieldsOf, firstLine, hasFailed, listOf, textOf } from "./parts/fields";
import { Problem } from "./parts/Outcome";
import { Stack } from "./parts/Section";
import type { CallProps, RequestProps, ToolView } from "./view";

interface Question {
  text: string;
  options: { label: string; about: string }[];
}

function questionsOf(input: unknown): Question[] {
  return listOf(input, "questions").map((each) => ({
    text: textOf(each, "question", "header"),
    options: listOf(each, "options").map((option) => ({
      label: typeof option === "string" ? option : textOf(option, "label"),
      about: textOf(option, "description"),
    })),
  }));
}

/** The answers to a question: labels, or free text. */
function answerTo(row: ToolRow, question: string): string[] {
  for (const answers of [fieldsOf(row.display).answers, row.input.answers]) {
    const found = Object.hasOwn(fieldsOf(answers), question) ? fieldsOf(answers)[question] : undefined;
    if (Array.isArray(found)) return found.map(String);
    if (typeof found === "string" && found) return [found];
  }
  return [];
}

function title(row: ToolRow): string {
  const questions = questionsOf(row.input);
  const first = firstLine(questions[0]?.text ?? "");
  return questions.length > 1
    ? `Asked: ${first} and ${questions.length - 1} more`
    : `Asked: ${first || "a question"}`;
}

function Body({ row }: CallProps) {
  return (
    <Stack>
      {keyed(questionsOf(row.input)).map(({ key, item }) => (
        <Answered key={key} question={item} answers={answerTo(row, item.text)} />
      ))}
      <Problem row={row} />
    </Stack>
  );
}

function Answered({ question, answers }: { question: Question; answers: string[] }) {
  // Several labels may be joined in one text.
  const chosen = new Set([...answers, ...answers.flatMap((each) => each.split(", "))]);
  const labels = new Set(question.options.map((option) => option.label));
  const own = answers.filter(
    (each) => !labels.has(each) && !each.split(", ").every((part) => labels.has(part)),
  );
  return (
    <div className="min-w-0">
      <p className="m-0 font-medium wrap-anywhere">
        <VisibleText text={question.text} />
      </p>
      <ul className="m-0 list-none p-0">
        {keyed(question.options).map(({ key, item }) => (
          <li key={key} className={`flex gap-2 ${chosen.has(item.label) ? "text-ink-1" : "text-ink-3"}`}>
            <span aria-hidden="true" className="w-3.5 shrink-0 text-center text-done">
              {chosen.has(item.label) ? "✓" : ""}
            </span>
            <span className="min-w-0 wrap-anywhere">
              <VisibleText text={item.label} />
              {chosen.has(item.label) && <span className="sr-only"> (selected)</span>}
            </span>
          </li>
        ))}
      </ul>
      {own.length > 0 && (
        <p className="m-0 whitespace-pre-wrap wrap-anywhere">
          <span className="text-done">✓ </span>
          {own.join("\n")}
        </p>
      )}
    </div>
  );
}

function ApprovalRequest({ input }: RequestProps) {
  return (
    <Stack>
      {keyed(questionsOf(input)).map(({ key, item }) => (
        <Answered key={key} question={item} answers={[]} />
      ))}
    </Stack>
  );
}

export const askUserQuestion: ToolView = {
  icon: "question",
  title,
  inline: (row) => {
    const answers = questionsOf(row.input).flatMap((each) => answerTo(row, each.text));
    return hasFailed(row) || answers.length === 0 ? null : <Aside>{firstLine(answers.join(", "))}</Aside>;
  },
  Body,
  request: ApprovalRequest,
};
