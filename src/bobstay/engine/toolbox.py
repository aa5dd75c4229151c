"""The tools of one agent, and what every call of them goes through."""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from bobstay.engine.auto_mode import AutoModeApproval
from bobstay.engine.call_scheduler import CallScheduler, CallTicket
from bobstay.engine.engine_ports import Approver, PermissionJudge
from bobstay.engine.tool_environment import ToolEnvironment
from bobstay.hooks.hook_event import HookCall, HookOutcome, Hooks
from bobstay.model.message import ToolCall
from bobstay.providers.base import ToolSpec
from bobstay.redaction.redactor import Redactor
from bobstay.tools.base import Context, Tool
from bobstay.tools.input_validation import BadInput, parse
from bobstay.tools.tool_registry import ToolRegistry

CUT_OFF = (
    "Your output limit cut this call off before its input was complete: it had no effect. Do not send it again as it "
    "was. Write it in parts: a shorter call first, then further calls that add the rest."
)


class Prepared(Struct):
    """A call whose tool was found and whose input has the right form."""

    tool: Tool[Any]
    args: Any
    context: Context
    input: dict[str, Any]
    read_only: bool


class Refused(Exception):  # noqa: N818 - it names what happened to the call
    """The call ends here; the text is what the model reads."""


class Toolbox:
    """What the pipeline needs for every call: tools, judge, gate, hooks and surroundings."""

    def __init__(
        self,
        shelf: ToolRegistry,
        *,
        judge: PermissionJudge,
        gate: Approver,
        hooks: Hooks,
        surroundings: ToolEnvironment,
        facts: Callable[[], dict[str, Any]],
        at_once: int = 10,
    ) -> None:
        self.shelf = shelf
        self.judge = judge
        self.gate = gate
        self.hooks = hooks
        self.surroundings = surroundings
        self.facts = facts
        """Fields common to all hook calls."""
        self.mask = Redactor()
        """Takes secrets out of what is stored, shown and sent."""
        self.auto: AutoModeApproval | None = None
        """Who judges in auto mode what a person would be asked about; without it the person is asked."""
        self.order = CallScheduler(at_once)
        self.structured_tool = next((entry.name for entry in shelf.entries if entry.needs == "schema"), "")
        """The tool that takes the structured answer, if one is wanted."""
        self._aside: set[asyncio.Task[HookOutcome]] = set()
        self.specs = tuple(ToolSpec(spec.name, spec.description, spec.schema) for spec in shelf.specs)

    def prepare(self, call: ToolCall, report: Callable[[str], None]) -> Prepared:
        """First phase: find the tool and give its input the right form.

        Raises:
            Refused: no such tool, or an input that cannot be its.
        """
        if call.malformed:
            raise Refused(
                f"The input of {call.name} was not a JSON object and could not be read. Send the call again with "
                f"valid JSON. What came: {call.malformed[:500]}"
            )
        tool = self.shelf.get(call.name)
        if tool is None:
            near = self.shelf.near(call.name)
            hint = f" Did you mean {near}?" if near else ""
            raise Refused(f"No such tool available: {call.name}.{hint} Tools: {', '.join(self.shelf.names)}")
        return self._prepared(tool, call.id, call.input, report, from_model=True)

    def prepare_again(self, before: Prepared, input: dict[str, Any]) -> Prepared:
        """Validate an input that a hook or a person rewrote.

        Raises:
            Refused: it does not fit the tool.
        """
        return self._prepared(before.tool, before.context.call_id, input, before.context.report, from_model=False)

    def hooks_aside(self, call: HookCall) -> "asyncio.Task[HookOutcome]":
        """Call hooks whose answer nobody has to wait for. They may outlive the call, not the session."""
        task = asyncio.ensure_future(self.hooks.run(call))
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)
        return task

    async def close(self) -> None:
        running = list(self._aside)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    def enter(self, prepared: Prepared | None) -> CallTicket:
        """Take a place in the order of calls. A call that will be refused anyway claims nothing."""
        if prepared is None:
            return self.order.enter(())
        return self.order.enter(prepared.tool.claims(prepared.args, prepared.context))

    def _prepared(
        self,
        tool: Tool[Any],
        call_id: str,
        input: dict[str, Any],
        report: Callable[[str], None],
        *,
        from_model: bool,
    ) -> Prepared:
        entry = self.shelf.entry(tool.name)
        assert entry is not None
        try:
            args = parse(tool.args, input, entry.schema, from_model=from_model)
        except BadInput as error:
            raise Refused(f"InputValidationError: {tool.name} failed: {error}") from error
        context = self.surroundings.context(call_id, self.judge.mode, report)
        return Prepared(tool, args, context, input, tool.read_only(args, context))
