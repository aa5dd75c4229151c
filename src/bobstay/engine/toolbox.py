"""The tools of one agent, with everything the pipeline needs to run a call."""

import asyncio
import logging
import time
from collections.abc import Callable, Container, Coroutine, Iterable
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bobstay.engine.auto_mode import AutoModeApproval
from bobstay.engine.call_scheduler import CallScheduler, CallTicket
from bobstay.engine.engine_ports import Approver, PermissionJudge
from bobstay.engine.hook_notes import HookNotes
from bobstay.engine.tool_environment import ToolEnvironment
from bobstay.hooks.hook_event import HookCall, HookFacts, HookMessage, HookName, HookOutcome, Hooks
from bobstay.model.event import Decided, Durable
from bobstay.model.message import Block, ToolCall
from bobstay.permissions.access import Access
from bobstay.providers.base import ToolSpec
from bobstay.redaction.redactor import Redactor
from bobstay.tools.base import Claim, Context, Tool, ToolError
from bobstay.tools.input_validation import InvalidInputError, parse_input
from bobstay.tools.tool_registry import ToolRegistry

log = logging.getLogger(__name__)
log.addHandler(logging.NullHandler())  # tracebacks are shown only with --debug

HARMLESS = frozenset({"read", "none", "person"})
"""Kinds of access that change nothing outside the session."""
Attach: TypeAlias = Callable[[tuple[Block, ...]], Coroutine[Any, Any, list[Durable]]]
GRACE = 2.0
"""Seconds that hooks in the background get when their session is closed."""
CallEnding: TypeAlias = Literal["", "interrupt", "hook_stopped", "deferred", "auto_denied"]
"""How a call may end its turn, if it does."""


class PreparedCall(Struct):
    """A call whose tool exists and whose input is valid."""

    tool: Tool[Any]
    args: Any
    context: Context
    input: dict[str, Any]
    read_only: bool

    @property
    def accesses(self) -> tuple[Access, ...]:
        return self.tool.access(self.args, self.context)

    @property
    def claims(self) -> tuple[Claim, ...]:
        return self.tool.claims(self.args, self.context)


class Refused(Exception):  # noqa: N818 - it names what happened to the call
    """The call is refused; the model reads the text. `reason` says why the turn ends too, if it does."""

    def __init__(self, text: str, decided: Decided | None = None, ending: CallEnding = "", reason: str = "") -> None:
        super().__init__(text)
        self.decided = decided
        self.ending: CallEnding = ending
        self.reason = reason


class Toolbox:
    """What the pipeline needs for every call: tools, policy, approver, hooks and the tools' environment."""

    def __init__(  # noqa: PLR0913 - the one place that names all of it
        self,
        registry: ToolRegistry,
        *,
        judge: PermissionJudge,
        approver: Approver,
        hooks: Hooks,
        tool_environment: ToolEnvironment,
        facts: HookFacts,
        redactor: Redactor,
        auto: AutoModeApproval | None = None,
        concurrency: int = 10,
        notes: HookNotes | None = None,
        hidden: Container[str] = (),
    ) -> None:
        """`auto` answers permission requests in auto mode; without it the person is asked."""
        self.registry = registry
        self.judge = judge
        self.approver = approver
        self.hooks = hooks
        self.tool_environment = tool_environment
        self.facts = facts
        self.redactor = redactor
        """Redacts secrets in what is stored, shown and sent."""
        self.auto = auto
        self.attach: Attach | None = None
        """Returns what precedes a prompt that mentions files; None: mentions are plain text."""
        self.scheduler = CallScheduler(concurrency)
        self.structured_tool = next((entry.name for entry in registry.entries if entry.needs == "schema"), "")
        """Name of the tool for structured output, if the run is to end with it."""
        self.notes = notes if notes is not None else HookNotes()
        """About hooks that nobody waits for."""
        self._granted: list[Callable[[], None]] = []
        self._background_hooks: set[asyncio.Task[None]] = set()
        self._last_in_order: asyncio.Task[None] | None = None
        self.refresh: Callable[[], None] | None = None
        """Called before each request, for tools that come and go."""
        self.specs: tuple[ToolSpec, ...] = ()
        self._hidden: Container[str] = ()
        self.offer(registry, hidden)

    def offer(self, registry: ToolRegistry, hidden: Container[str] = (), found: Container[str] = ()) -> None:
        """Offer other tools from now on. The schemas of `hidden` ones are not sent; calls of them run all the same.

        `found` are those that were hidden until a search loaded them.
        """
        self.registry = registry
        self._hidden = hidden
        specs = (spec for spec in registry.specs if spec.name not in hidden)
        self.specs = tuple(ToolSpec(spec.name, spec.description, spec.schema, spec.name in found) for spec in specs)

    def unseen_schema(self, name: str) -> str:
        """What the model is told with an error of a tool whose schema it has not seen; "" if it has."""
        entry = self.registry.entry(name) if name in self._hidden else None
        return f"The schema of {name}: {msgspec.json.encode(entry.schema).decode()}" if entry is not None else ""

    def prepare(self, call: ToolCall, report: Callable[[str], None]) -> PreparedCall:
        """First phase: find the tool and parse its input.

        Raises:
            Refused: no such tool, or the input is invalid.
        """
        if call.malformed:
            raise Refused(
                f"The input of {call.name} was not a JSON object and could not be read. Send the call again with "
                f"valid JSON. What came: {call.malformed[:500]}"
            )
        tool = self.registry.get(call.name)
        if tool is None:
            near = self.registry.closest_name(call.name)
            hint = f" Did you mean {near}?" if near else ""
            raise Refused(f"No such tool available: {call.name}.{hint} Tools: {', '.join(self.registry.names)}")
        return self._prepared(tool, call.id, call.input, report, from_model=True)

    async def check(self, prepared: PreparedCall) -> None:
        """Second phase: let the tool check its input.

        Raises:
            ToolError: the input makes no sense, or would destroy a secret.
        """
        await prepared.tool.check(prepared.args, self.update_context(prepared))
        placeholder = self.redactor.find_placeholder(prepared.input)
        if placeholder and _may_write(prepared):
            raise ToolError(
                f"{placeholder} stands for a secret that was not shown to you; where you saw it is the true value. "
                "Writing this would destroy that, so nothing was run. Change only what is around it, with an edit that "
                "does not touch its line. If the line itself must change, ask the person to do it."
            )

    def update_context(self, prepared: PreparedCall) -> Context:
        """Update the context of a call: an earlier one may have changed the working directory or the mode."""
        before = prepared.context
        prepared.context = self.tool_environment.context(before.call_id, self.judge.mode, before.report)
        return prepared.context

    def prepare_again(self, before: PreparedCall, input: dict[str, Any]) -> PreparedCall:
        """Validate an input that a hook or a person rewrote.

        Raises:
            ToolError: the input is invalid.
        """
        try:
            return self._prepared(before.tool, before.context.call_id, input, before.context.report, from_model=False)
        except Refused as refusal:
            raise ToolError(f"The input was rewritten, and the new input is invalid. {refusal}") from refusal

    def hook_call(self, name: HookName, prepared: PreparedCall, **fields: Any) -> HookCall:
        """Build the hook call for a tool event."""
        tool, call_id = prepared.tool.name, prepared.context.call_id
        common = {"tool_name": tool, "tool_input": prepared.input, "tool_use_id": call_id}
        return HookCall(name, {**self.facts(), **common, **fields}, tool, call_id, prepared.accesses)

    async def run_hooks(self, call: HookCall) -> HookOutcome:
        """Run the hooks of an event. The outcome says how long they took."""
        began = time.monotonic()
        outcome = await self.hooks.run(call)
        return replace(outcome, label=call.label, duration_ms=int((time.monotonic() - began) * 1000))

    def start_hooks(self, call: HookCall, *, in_order: bool = False) -> None:
        """Start hooks without waiting for their answer. They may outlive the call, but not the session.

        With `in_order` they begin when those that were started so before have ended.
        """
        task = asyncio.ensure_future(self._run_unawaited(call, self._last_in_order if in_order else None))
        if in_order:
            self._last_in_order = task
        self._background_hooks.add(task)
        task.add_done_callback(self._background_hooks.discard)

    async def close(self) -> None:
        """End the hooks that nobody waits for, those of the last moment after a while: they may be about to finish."""
        if self._background_hooks:
            await asyncio.wait(self._background_hooks, timeout=GRACE)
        running = list(self._background_hooks)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    async def _run_unawaited(self, call: HookCall, after: "asyncio.Task[None] | None") -> None:
        if after is not None and not after.done():
            await asyncio.wait((after,))
        try:
            outcome = await self.run_hooks(call)
        except Exception as error:  # boundary: nobody waits for these hooks, so nobody else would report the defect
            log.exception("hooks of %s broke", call.label)
            message = HookMessage(f"{call.label} hook broke: {type(error).__name__}: {error}", "warning")
            outcome = HookOutcome(failed=True, messages=(message,), label=call.label)
        self.notes.add(outcome)

    def grant_for_turn(self, rules: Iterable[str]) -> None:
        """Allow what these permission rules allow until the turn ends."""
        self._granted.append(self.judge.grant(rules))

    def end_turn(self) -> None:
        """Revoke what was granted for the turn."""
        for revoke in self._granted:
            revoke()
        self._granted.clear()

    def enter(self, prepared: PreparedCall | None) -> CallTicket:
        """Add the call to the schedule. A call that will be refused anyway claims nothing."""
        return self.scheduler.enter(() if prepared is None else prepared.claims)

    def _prepared(
        self,
        tool: Tool[Any],
        call_id: str,
        input: dict[str, Any],
        report: Callable[[str], None],
        *,
        from_model: bool,
    ) -> PreparedCall:
        entry = self.registry.entry(tool.name)
        assert entry is not None
        try:
            args = parse_input(tool.args, input, entry.schema, from_model=from_model)
        except InvalidInputError as error:
            unseen = self.unseen_schema(tool.name)
            raise Refused(f"InputValidationError: {tool.name} failed: {error}{unseen and f' {unseen}'}") from error
        context = self.tool_environment.context(call_id, self.judge.mode, report)
        return PreparedCall(tool, args, context, input, tool.read_only(args, context))


def _may_write(prepared: PreparedCall) -> bool:
    """Whether a call is not certainly read-only. A command may write, and so may a tool without declared accesses."""
    accesses = prepared.accesses
    return not prepared.read_only and not (accesses and all(access.kind in HARMLESS for access in accesses))
