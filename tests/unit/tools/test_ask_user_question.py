"""AskUserQuestion: questions to the user and their answers."""

from pathlib import Path
from typing import Any

import pytest

from bobstay.permissions.access import Access
from bobstay.tools.base import Outcome, ToolError
from bobstay.tools.builtin.ask_user_question import AskUserQuestion, AskUserQuestionArgs
from bobstay.tools.input_validation import InvalidInputError, parse_input
from bobstay.tools.schema import build_schema
from tests.kit.tool_context import make_context

COLOUR: dict[str, Any] = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "Warm"}, {"label": "Blue", "description": "Cold"}],
    "multiSelect": False,
}


def parsed(**given: Any) -> AskUserQuestionArgs:
    return parse_input(AskUserQuestionArgs, {"questions": [COLOUR]} | given, build_schema(AskUserQuestionArgs))


async def run(folder: Path, **given: Any) -> Outcome:
    return await AskUserQuestion().run(parsed(**given), make_context(folder))


async def test_the_answers_a_host_puts_into_the_input_reach_the_model(tmp_path: Path) -> None:
    outcome = await run(tmp_path, answers={"Which colour?": "Blue"})
    assert outcome.content == "The user answered:\n- Which colour?\n  Blue"
    assert outcome.display["answers"] == {"Which colour?": "Blue"}
    (shown,) = outcome.display["questions"]
    assert shown["question"] == "Which colour?"
    assert [option["label"] for option in shown["options"]] == ["Red", "Blue"]


@pytest.mark.parametrize("answers", [None, {}, {"Which colour?": ""}, {"Which colour?": None}])
async def test_without_an_answer_the_model_is_told_that_nobody_answered(tmp_path: Path, answers: Any) -> None:
    with pytest.raises(ToolError, match="Nobody answered"):
        await run(tmp_path, answers=answers)


async def test_several_choices_and_open_questions_are_told(tmp_path: Path) -> None:
    other = COLOUR | {"question": "Which size?"}
    outcome = await run(tmp_path, questions=[COLOUR, other], answers={"Which colour?": ["Red", "Blue"]})
    assert "Red, Blue" in str(outcome.content)
    assert "Left open: Which size?" in str(outcome.content)


def test_the_model_is_not_told_of_the_field_for_answers() -> None:
    """Only the host that asks the person may fill it in."""
    assert list(build_schema(AskUserQuestionArgs)["properties"]) == ["questions"]


def test_a_model_cannot_answer_in_the_name_of_the_person() -> None:
    forged = {"questions": [COLOUR], "answers": {"Which colour?": "Blue"}}
    with pytest.raises(InvalidInputError, match="answers is not a field"):
        parse_input(AskUserQuestionArgs, forged, build_schema(AskUserQuestionArgs), from_model=True)


def test_a_host_may_send_back_more_than_we_know(tmp_path: Path) -> None:
    assert parsed(annotations={"a": 1}, metadata={"source": "x"}).metadata == {"source": "x"}


def test_it_is_a_question_to_a_person(tmp_path: Path) -> None:
    tool = AskUserQuestion()
    assert (tool.interaction, tool.needs) == ("question", "person")
    assert tool.access(parsed(), make_context(tmp_path)) == (Access("person", "Which colour?"),)


@pytest.mark.parametrize(
    ("questions", "phrase"),
    [
        ([], "questions must have at least 1 items"),
        ([COLOUR] * 5, "questions must have at most 4 items"),
        ([COLOUR | {"options": [{"label": "Only"}]}], "options must have at least 2 items"),
        ([COLOUR | {"options": [{"label": str(n)} for n in range(5)]}], "options must have at most 4 items"),
    ],
)
def test_the_number_of_questions_and_options_is_bounded(questions: list[Any], phrase: str) -> None:
    with pytest.raises(InvalidInputError, match=phrase):
        parsed(questions=questions)


async def test_questions_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    twice = COLOUR | {"options": [{"label": "A"}, {"label": "A"}]}
    for questions, phrase in (([COLOUR, COLOUR], "are the same"), ([twice], "same label")):
        with pytest.raises(ToolError, match=phrase):
            await AskUserQuestion().check(parsed(questions=questions), make_context(tmp_path))
