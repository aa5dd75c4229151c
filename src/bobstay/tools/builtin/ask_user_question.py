"""AskUserQuestion: asks the user a few multiple-choice questions."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.schema import HOST_ONLY


class Option(Args, frozen=True):
    label: Annotated[str, Meta(min_length=1, description="The answer in one to five words")]
    description: Annotated[str, Meta(description="What choosing it means or leads to")] = ""
    preview: Annotated[
        str, Meta(description="Code or a sketch of what it would look like, if that helps to choose")
    ] = ""


class Question(Args, frozen=True, rename="camel"):
    question: Annotated[str, Meta(min_length=1, description="The whole question, ending in a question mark")]
    options: Annotated[list[Option], Meta(min_length=2, max_length=4, description="Two to four different answers")]
    header: Annotated[str, Meta(description="One or two words that name the matter, such as Database")] = ""
    multi_select: Annotated[bool, Meta(description="Whether several answers may be chosen together")] = False


class AskUserQuestionArgs(Args, frozen=True):
    questions: Annotated[list[Question], Meta(min_length=1, max_length=4)]
    answers: Annotated[dict[str, Any] | None, HOST_ONLY] = None
    annotations: Annotated[Any, HOST_ONLY] = None
    metadata: Annotated[Any, HOST_ONLY] = None


class AskUserQuestion(Tool[AskUserQuestionArgs]):
    name = "AskUserQuestion"
    hint = "ask the user, clarify, choose between options, decision"
    description = """\
Ask the user one to four questions and wait for the answers. Use it when the work depends on a choice only the user \
can make: what they prefer, what they meant, which of several sound ways to take.

Do not ask what you can find out by reading the code, and do not ask for permission to do what was already requested.

- Give two to four distinct options each; the user can always type something else, so add no "Other".
- If you would choose one yourself, put it first and end its label with "(Recommended)".
- To have a plan approved, use the tool for leaving plan mode instead."""
    args = AskUserQuestionArgs
    interaction = "question"
    needs = "person"

    def read_only(self, args: AskUserQuestionArgs, context: Context) -> bool:
        return True

    def access(self, args: AskUserQuestionArgs, context: Context) -> tuple[Access, ...]:
        return (Access("person", "; ".join(question.question for question in args.questions)),)

    def claims(self, args: AskUserQuestionArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim("person"),)

    async def check(self, args: AskUserQuestionArgs, context: Context) -> None:
        texts = [question.question for question in args.questions]
        if len(set(texts)) < len(texts):
            raise ToolError("Two of the questions are the same. Answers go by the question's text: ask each one once.")
        for question in args.questions:
            labels = [option.label for option in question.options]
            if len(set(labels)) < len(labels):
                raise ToolError(f"Two options of {question.question!r} have the same label. Give each its own.")

    async def run(self, args: AskUserQuestionArgs, context: Context) -> Outcome:
        given = {text: _text(answer) for text, answer in (args.answers or {}).items()}
        given = {text: answer for text, answer in given.items() if answer}
        if not given:
            raise ToolError(
                "Nobody answered. Continue with what you think best and say what you assumed, or ask in plain text."
            )
        lines = [f"- {text}\n  {answer}" for text, answer in given.items()]
        open_ones = [question.question for question in args.questions if question.question not in given]
        if open_ones:
            lines.append("Left open: " + " ".join(open_ones))
        return Outcome(
            "The user answered:\n" + "\n".join(lines),
            display={"questions": msgspec.to_builtins(args.questions), "answers": given},
        )


def _text(answer: Any) -> str:
    """The answer as text: hosts send a label, free text, or a list of labels."""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, list | tuple):
        return ", ".join(str(part) for part in answer)
    return "" if answer is None else str(answer)
