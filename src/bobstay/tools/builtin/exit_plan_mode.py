"""ExitPlanMode: present the plan to a person, whose approval ends plan mode."""

from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, field

from bobstay.model.event import Durable, ModeChanged
from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Context, Outcome, Tool
from bobstay.tools.schema import HOST_ONLY

_MAX_PLAN = 200_000


class ExitPlanModeArgs(Args, frozen=True):
    plan: Annotated[
        str, Meta(description="The plan in Markdown. Leave it out if you wrote it to the plan file you were given")
    ] = ""
    plan_file_path: Annotated[str, HOST_ONLY] = field(name="planFilePath", default="")
    allowed_prompts: Annotated[Any, HOST_ONLY] = field(name="allowedPrompts", default=None)


class ExitPlanMode(Tool[ExitPlanModeArgs]):
    name = "ExitPlanMode"
    hint = "plan ready, approve the plan, start coding"
    description = """\
In plan mode, call this when the plan is complete: the user reads it and approves it or says what to change. On \
approval plan mode ends and you carry the plan out.

The plan says what will change, in which files, in what order, and how the result will be tested. Settle open \
questions with the user before, not in the plan. Only for work that changes something: after mere research, answer in \
plain text."""
    args = ExitPlanModeArgs
    interaction = "plan"
    needs = "person"

    def read_only(self, args: ExitPlanModeArgs, context: Context) -> bool:
        return True

    def access(self, args: ExitPlanModeArgs, context: Context) -> tuple[Access, ...]:
        return (Access("person", "leave plan mode"),)

    async def run(self, args: ExitPlanModeArgs, context: Context) -> Outcome:
        plan_file = context.services.plan_file
        plan = args.plan or _read_plan_file(plan_file)
        # The approver may already have chosen another mode; then there is nothing to change.
        events: tuple[Durable, ...] = (ModeChanged("default"),) if context.mode == "plan" else ()
        return Outcome(
            _answer(plan, plan_file, in_file=not args.plan),
            display={"plan": plan or None, "isAgent": False, "filePath": str(plan_file) if plan_file else None},
            events=events,
        )


def _answer(plan: str, plan_file: Path | None, *, in_file: bool) -> str:
    if not plan:
        return "The user agreed to leave plan mode. You may make changes now."
    where = f"\nThe plan is in {plan_file}, should you need to look it up." if plan_file and in_file else ""
    begin = "The user approved the plan. Carry it out now, and keep a list of its steps."
    return f"{begin}{where}\n\n## The approved plan\n{plan}"


def _read_plan_file(plan_file: Path | None) -> str:
    if plan_file is None:
        return ""
    try:
        with plan_file.open(encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_PLAN)
    except OSError:
        return ""
