"""EnterPlanMode: explore without changes until the user approves a plan."""

from bobstay.model.event import ModeChanged
from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Context, Outcome, Tool, ToolError


class EnterPlanModeArgs(Args, frozen=True):
    pass


class EnterPlanMode(Tool[EnterPlanModeArgs]):
    name = "EnterPlanMode"
    hint = "plan before coding, design first, explore without changes"
    description = """\
Switch to plan mode: you explore and design, and change nothing until the user has agreed to a plan.

Use it before work where going wrong would be costly: a new feature with several sound designs, a change across many \
files, a request you must explore before you can say what it takes. Skip it for small or clearly described changes, \
and for questions."""
    args = EnterPlanModeArgs
    needs = "person"

    def read_only(self, args: EnterPlanModeArgs, context: Context) -> bool:
        return True

    def access(self, args: EnterPlanModeArgs, context: Context) -> tuple[Access, ...]:
        return (Access("none"),)

    async def check(self, args: EnterPlanModeArgs, context: Context) -> None:
        if context.mode == "plan":
            raise ToolError(
                "You are in plan mode already. Work out the plan, then leave plan mode to have it approved."
            )

    async def run(self, args: EnterPlanModeArgs, context: Context) -> Outcome:
        plan_file = context.services.plan_file
        where = f" Write the plan to {plan_file}, the one file you may write." if plan_file else ""
        return Outcome(
            "You are in plan mode now. Read and search as much as you need, change nothing, and ask the user about "
            f"what only they can decide.{where} When the plan is ready, call ExitPlanMode to put it before the user.",
            display={"mode": "plan"},
            events=(ModeChanged("plan"),),
        )
