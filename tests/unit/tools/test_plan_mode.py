"""Entering plan mode, and leaving it with the approval of a person."""

from pathlib import Path

import pytest

from bobstay.model.event import ModeChanged
from bobstay.permissions.access import Access
from bobstay.tools.base import Context, ToolError
from bobstay.tools.builtin.enter_plan_mode import EnterPlanMode, EnterPlanModeArgs
from bobstay.tools.builtin.exit_plan_mode import ExitPlanMode, ExitPlanModeArgs
from bobstay.tools.input_validation import parse_input
from bobstay.tools.schema import build_schema
from tests.kit.tool_context import make_context


def planning(folder: Path, mode: str = "plan", plan: str | None = None) -> Context:
    file = folder / "plan.md"
    if plan is not None:
        file.write_text(plan)
    context = make_context(folder, plan_file=file)
    context.mode = mode
    return context


async def test_entering_changes_the_mode_and_says_what_to_do(tmp_path: Path) -> None:
    context = planning(tmp_path, "default")
    await EnterPlanMode().check(EnterPlanModeArgs(), context)
    outcome = await EnterPlanMode().run(EnterPlanModeArgs(), context)
    assert outcome.events == (ModeChanged("plan"),)
    assert str(tmp_path / "plan.md") in str(outcome.content)
    assert "ExitPlanMode" in str(outcome.content)


async def test_entering_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="already"):
        await EnterPlanMode().check(EnterPlanModeArgs(), planning(tmp_path))


async def test_the_plan_of_the_input_is_handed_on(tmp_path: Path) -> None:
    outcome = await ExitPlanMode().run(ExitPlanModeArgs("1. Do it"), planning(tmp_path, plan="other"))
    assert outcome.display == {"plan": "1. Do it", "isAgent": False, "filePath": str(tmp_path / "plan.md")}
    assert "1. Do it" in str(outcome.content)
    assert outcome.events == (ModeChanged("default"),)


async def test_the_plan_may_stand_in_the_file(tmp_path: Path) -> None:
    outcome = await ExitPlanMode().run(ExitPlanModeArgs(), planning(tmp_path, plan="# Plan\n1. Do this\n"))
    assert outcome.display["plan"] == "# Plan\n1. Do this\n"
    assert "plan.md" in str(outcome.content)


async def test_there_may_be_no_plan_at_all(tmp_path: Path) -> None:
    outcome = await ExitPlanMode().run(ExitPlanModeArgs(), planning(tmp_path))
    assert outcome.display == {"plan": None, "isAgent": False, "filePath": str(tmp_path / "plan.md")}
    bare = make_context(tmp_path)
    bare.mode = "plan"
    assert (await ExitPlanMode().run(ExitPlanModeArgs(), bare)).display["filePath"] is None


async def test_a_mode_chosen_by_whoever_approved_is_kept(tmp_path: Path) -> None:
    outcome = await ExitPlanMode().run(ExitPlanModeArgs("x"), planning(tmp_path, mode="acceptEdits"))
    assert outcome.events == ()


def test_a_host_may_fill_in_the_path_of_the_plan() -> None:
    schema = build_schema(ExitPlanModeArgs)
    assert list(schema["properties"]) == ["plan"]
    args = parse_input(ExitPlanModeArgs, {"plan": "x", "planFilePath": "/p", "allowedPrompts": []}, schema)
    assert args.plan == "x"


def test_leaving_is_for_a_person_to_approve(tmp_path: Path) -> None:
    tool, context = ExitPlanMode(), make_context(tmp_path)
    assert (tool.interaction, tool.needs) == ("plan", "person")
    assert tool.access(ExitPlanModeArgs(), context) == (Access("person", "leave plan mode"),)
    assert EnterPlanMode().access(EnterPlanModeArgs(), context) == (Access("none"),)
    assert EnterPlanMode.needs == "person", "without a person nobody could let the model out again"
