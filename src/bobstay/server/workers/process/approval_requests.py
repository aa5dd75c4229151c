"""Interactions of an external engine: approval requests, questions and plans, each answered through the inbox."""

import asyncio
import re
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from bobstay.engine.engine_ports import Answer
from bobstay.model.event import Durable, InteractionClosed, InteractionOpened
from bobstay.model.ids import new_id
from bobstay.model.message import ToolCall
from bobstay.permissions.access import Effect
from bobstay.permissions.shell.destructive import is_destructive
from bobstay.redaction.redactor import Redactor
from bobstay.server.inbox import Inbox
from bobstay.server.workers.process.read_only_policy import ReadOnlyPolicy, refusal
from bobstay.server.workers.process.untrusted_fields import record, text
from bobstay.sessions.log import LogError
from bobstay.wire.control_channel import failure, success

PRE_TOOL = "bobstay_pre_tool"
HOOKS: dict[str, Any] = {
    "PreToolUse": [{"matcher": "AskUserQuestion|ExitPlanMode", "hookCallbackIds": [PRE_TOOL], "timeout": 86_400}]
}
"""For engines that would answer their own questions: the hook asks the console first."""
_PLAN = re.compile(r"^ExitPlanMode$")
DECLINED = "The user declined this. Do not try it in another way; ask what to do instead."

Kind: TypeAlias = Literal["permission", "question", "plan"]
Store: TypeAlias = Callable[[Durable, str, str], None]
"""Stores an event, with the call and the name of the sub-agent it belongs to."""


class ApprovalPorts(Struct, frozen=True):
    """Ports to the worker."""

    session_id: str
    inbox: Inbox
    redactor: Redactor
    store: Store
    send: Callable[[dict[str, Any]], object]
    agent: Callable[[str], tuple[str, str]]
    """The name of a sub-agent, and the call that started it, by its id."""
    idle: Callable[[bool], None]
    """Called when the engine starts waiting for people, and when it stops."""
    broken: Callable[[LogError], None]
    """Called when an answer cannot be stored: it then does not count."""
    reading: ReadOnlyPolicy
    """Restrictions of the session's workflow, which no person can lift."""


class _Open(Struct):
    opened: InteractionOpened
    task: "asyncio.Task[None] | None" = None


class ApprovalRequests:
    def __init__(self, ports: ApprovalPorts) -> None:
        self._ports = ports
        self._open: dict[str, _Open] = {}
        self._waiting = 0

    def handle(self, frame: dict[str, Any]) -> None:
        """Handle a control request of the engine. An unknown one is answered with an error."""
        id, request = text(frame, "request_id"), record(frame, "request")
        subtype = text(request, "subtype")
        if subtype == "can_use_tool":
            opened = _from_permission_request(request)
            if not self._decide_by_workflow(id, opened.call):
                self._ask(id, opened, text(request, "agent_id"), by_hook=False)
        elif subtype == "hook_callback":
            self._handle_hook(id, request)
        else:
            self._ports.send(failure(id, f"Unsupported control request subtype: {subtype}", "unsupported_request"))

    def withdraw(self, frame: dict[str, Any]) -> None:
        """The engine cancels its request."""
        self._cancel(text(frame, "request_id"), "engine")

    def cancel_all(self, by: str) -> None:
        for id in tuple(self._open):
            self._cancel(id, by)

    def _decide_by_workflow(self, id: str, call: ToolCall) -> bool:
        """Answer at once if the session's workflow decides. False if a person must."""
        decided = self._ports.reading.decision(call)
        if decided is None or decided.effect is Effect.ASK:
            return False
        answer = Answer(decided.effect is Effect.ALLOW, refusal(decided))
        self._ports.send(success(id, permission_response(answer, call.input)))
        return True

    def _handle_hook(self, id: str, request: dict[str, Any]) -> None:
        call = record(request, "input")
        if text(request, "callback_id") != PRE_TOOL or text(call, "hook_event_name") != "PreToolUse":
            self._ports.send(success(id, {}))
            return
        self._ask(id, _from_hook(call), text(call, "agent_id"), by_hook=True)

    def _ask(self, id: str, opened: InteractionOpened, agent_id: str, *, by_hook: bool) -> None:
        name, parent = self._ports.agent(agent_id) if agent_id else ("", "")
        shown = self._ports.redactor.redact_value(opened)
        entry = self._open[id] = _Open(shown)
        self._ports.store(shown, parent, name)
        work = self._await_answer(id, opened, shown, by_hook=by_hook)
        entry.task = asyncio.create_task(work, name=f"asks {self._ports.session_id}")

    async def _await_answer(
        self, id: str, opened: InteractionOpened, shown: InteractionOpened, *, by_hook: bool
    ) -> None:
        try:
            await self._wait(id, opened, shown, by_hook=by_hook)
        except LogError as error:
            self._ports.broken(error)

    async def _wait(self, id: str, opened: InteractionOpened, shown: InteractionOpened, *, by_hook: bool) -> None:
        self._count_waiting(1)
        try:
            answer = await self._ports.inbox.wait(self._ports.session_id, shown)
        except asyncio.CancelledError:
            self._close(id, InteractionClosed(shown.id, "cancelled", by="withdrawn"))
            raise
        finally:
            self._count_waiting(-1)
        outcome: Literal["allowed", "denied"] = "allowed" if answer.allow else "denied"
        if not self._close(id, InteractionClosed(shown.id, outcome, answer.message, answer.by, answer.input)):
            return
        whole = restore_redacted(opened.call.input, shown.call.input, answer.input)
        answer = self._ports.reading.answer(opened.call, answer, whole)
        response = hook_response(opened, answer, whole) if by_hook else permission_response(answer, whole)
        self._ports.send(success(id, response))

    def _count_waiting(self, change: int) -> None:
        before, self._waiting = self._waiting, self._waiting + change
        if bool(before) != bool(self._waiting):
            self._ports.idle(bool(self._waiting))

    def _cancel(self, id: str, by: str) -> None:
        entry = self._open.get(id)
        if entry is not None:
            self._close(id, InteractionClosed(entry.opened.id, "cancelled", by=by))
            if entry.task is not None:
                entry.task.cancel()

    def _close(self, id: str, closed: InteractionClosed) -> bool:
        """Record the outcome once. False if it was closed before."""
        if self._open.pop(id, None) is None:
            return False
        self._ports.store(closed, "", "")
        return True


def permission_response(answer: Answer, input: dict[str, Any]) -> dict[str, Any]:
    if answer.allow:
        allowed: dict[str, Any] = {"behavior": "allow", "updatedInput": input}
        return {**allowed, "updatedPermissions": list(answer.updates)} if answer.updates else allowed
    denied: dict[str, Any] = {"behavior": "deny", "message": answer.message or DECLINED}
    return {**denied, "interrupt": True} if answer.interrupt else denied


def hook_response(opened: InteractionOpened, answer: Answer, input: dict[str, Any]) -> dict[str, Any]:
    """The response of a hook: a question is blocked from running, with the answer as the reason."""
    if answer.allow and opened.kind != "question":
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
    reason = format_answers(input) if answer.allow else answer.message or DECLINED
    output = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"decision": "block", "reason": reason, "hookSpecificOutput": output}


def format_answers(input: dict[str, Any]) -> str:
    """A person's answers to questions, as text for the model."""
    lines = []
    for question, given in record(input, "answers").items():
        answer = ", ".join(map(str, given)) if isinstance(given, list | tuple) else str(given)
        lines.append(f"{question}: {answer}")
    return "The user answered:\n" + "\n".join(lines)


def restore_redacted(real: dict[str, Any], shown: dict[str, Any], edited: dict[str, Any] | None) -> dict[str, Any]:
    """The input to run: as edited, but fields that were redacted and not edited keep their original value."""
    if edited is None:
        return real
    return {name: real[name] if name in real and shown.get(name) == value else value for name, value in edited.items()}


def _from_permission_request(request: dict[str, Any]) -> InteractionOpened:
    call = ToolCall(text(request, "tool_use_id") or new_id(), text(request, "tool_name"), record(request, "input"))
    suggestions = request.get("permission_suggestions")
    return InteractionOpened(
        new_id(),
        _kind(call, personal=request.get("requires_user_interaction") is True),
        call,
        text(request, "decision_reason"),
        text(request, "decision_reason_type"),
        tuple(entry for entry in suggestions if isinstance(entry, dict)) if isinstance(suggestions, list) else (),
        text(request, "blocked_path"),
        text(request, "description") or text(request, "title"),
        destructive=_is_destructive(call),
        mcp_server={name: each for name, each in record(request, "mcp_server").items() if isinstance(each, str)},
    )


def _is_destructive(call: ToolCall) -> bool:
    """The shell's directory is not known here, but it does not matter for this."""
    command = call.input.get("command")
    return isinstance(command, str) and is_destructive(command, "/", "/")


def _from_hook(call: dict[str, Any]) -> InteractionOpened:
    asked = ToolCall(text(call, "tool_use_id") or new_id(), text(call, "tool_name"), record(call, "tool_input"))
    return InteractionOpened(new_id(), _kind(asked, personal=True), asked)


def _kind(call: ToolCall, *, personal: bool) -> Kind:
    if isinstance(call.input.get("questions"), list):
        return "question"
    return "plan" if _PLAN.match(call.name) or (personal and "plan" in call.input) else "permission"
