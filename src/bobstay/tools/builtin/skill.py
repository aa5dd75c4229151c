"""Skill: carry out a skill or command that people wrote."""

from typing import Annotated, Any

from msgspec import Meta

from bobstay.model.event import Prompted
from bobstay.model.ids import new_id
from bobstay.model.message import Text
from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.skill_service import SkillService


class SkillArgs(Args, frozen=True):
    skill: Annotated[str, Meta(description="The name of the skill, without a slash")]
    args: Annotated[str, Meta(description="Arguments for it, if it takes any")] = ""


class Skill(Tool[SkillArgs]):
    name = "Skill"
    hint = "skill, slash command, instructions, how to"
    description = """\
Carry out a skill: instructions that people wrote for a certain kind of task, listed with their names in this \
conversation. If one fits what you were asked to do, call it before you begin, and follow what it says. A person who \
writes /name means the skill or command of that name."""
    args = SkillArgs
    needs = "skills"
    cap = 100_000

    def access(self, args: SkillArgs, context: Context) -> tuple[Access, ...]:
        skills = context.services.skills
        # A skill that grants or forbids something needs a rule or a person, as any call that states nothing.
        return () if skills is None or skills().needs_permission(args.skill) else (Access("none"),)

    def claims(self, args: SkillArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim(f"skill:{context.call_id}"),)

    async def run(self, args: SkillArgs, context: Context) -> Outcome:
        result = await _require_skills(context).call(args.skill, args.args, context.call_id)
        display: dict[str, Any] = {"success": True, "commandName": result.name}
        if result.agent:
            display |= {"status": "forked", "agentId": result.agent, "result": result.text}
            return Outcome(f"Skill {result.name} was carried out by a sub-agent:\n{result.text}", display=display)
        if result.allowed_tools:
            display["allowedTools"] = list(result.allowed_tools)
        body = Prompted(new_id(), (Text(result.text),), "harness", why="skill")
        return Outcome(f"Launching skill: {result.name}", display=display, after=(body,))


def _require_skills(context: Context) -> SkillService:
    if context.services.skills is None:
        raise ToolError("There are no skills in this session.")
    return context.services.skills()
