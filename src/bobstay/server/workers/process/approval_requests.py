"""What an engine asks of a person while it runs: permission, a question, a plan. Each waits in the inbox."""

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
"""For engines that would answer their own questions: they ask us first (S004-21)."""
_PLAN = re.compile(r"^ExitPlanMode$")
DECLINED = "The user declined this. Do not try it in another way; ask what to do instead."

Kind: TypeAlias = Literal["permission", "question", "plan"]
Store: TypeAlias = Callable[[Durable, str, str], None]
"""Puts an event into the log, with the call and the name of the sub-agent it belongs to."""


class ApprovalPorts(Struct, frozen=True):
    """The worker, as far as asking needs it."""

    session_id: str
    inbox: Inbox
    mask: Redactor
    store: Store
    send: Callable[[dict[str, Any]], object]
    agent: Callable[[str], tuple[str, str]]
    """The name of a sub-agent, and the call that started it, by its id."""
    idle: Callable[[bool], None]
    """Told when the engine begins to wait for people, and when it no longer does."""
    broken: Callable[[LogError], None]
    """Told when an answer cannot be stored: then it was not given."""
    reading: ReadOnlyPolicy
    """What the session's workflow forbids, whoever would allow it."""


class _Open(Struct):
    opened: InteractionOpened
    task: "asyncio.Task[None] | None" = None


class ApprovalRequests:
    def __init__(self, post: ApprovalPorts) -> None:
        self._post = post
        self._open: dict[str, _Open] = {}
        self._waiting = 0

    def take(self, frame: dict[str, Any]) -> None:
        """Take up a request of the engine. What is none of ours is answered with an error, never with silence."""
        id, request = text(frame, "request_id"), record(frame, "request")
        subtype = text(request, "subtype")
        if subtype == "can_use_tool":
            opened = _of_permission(request)
            if not self._decided(id, opened.call):
                self._ask(id, opened, text(request, "agent_id"), by_hook=False)
        elif subtype == "hook_callback":
            self._hooked(id, request)
        else:
            self._post.send(failure(id, f"Unsupported control request subtype: {subtype}", "unsupported_request"))

    def withdraw(self, frame: dict[str, Any]) -> None:
        """The engine does not want to know any more."""
        self._cancel(text(frame, "request_id"), "engine")

    def cancel_all(self, by: str) -> None:
        for id in tuple(self._open):
            self._cancel(id, by)

    def _decided(self, id: str, call: ToolCall) -> bool:
        """Answer at once what the workflow of the session decides. False if a person must."""
        decided = self._post.reading.decision(call)
        if decided is None or decided.verdict is Effect.ASK:
            return False
        answer = Answer(decided.verdict is Effect.ALLOW, refusal(decided))
        self._post.send(success(id, permission_response(answer, call.input)))
        return True

    def _hooked(self, id: str, request: dict[str, Any]) -> None:
        call = record(request, "input")
        if text(request, "callback_id") != PRE_TOOL or text(call, "hook_event_name") != "PreToolUse":
            self._post.send(success(id, {}))
            return
        self._ask(id, _of_hook(call), text(call, "agent_id"), by_hook=True)

    def _ask(self, id: str, opened: InteractionOpened, agent_id: str, *, by_hook: bool) -> None:
        name, parent = self._post.agent(agent_id) if agent_id else ("", "")
        shown = self._post.mask.value(opened)
        entry = self._open[id] = _Open(shown)
        self._post.store(shown, parent, name)
        work = self._settle(id, opened, shown, by_hook=by_hook)
        entry.task = asyncio.create_task(work, name=f"asks {self._post.session_id}")

    async def _settle(self, id: str, opened: InteractionOpened, shown: InteractionOpened, *, by_hook: bool) -> None:
        try:
            await self._wait(id, opened, shown, by_hook=by_hook)
        except LogError as error:
            self._post.broken(error)

    async def _wait(self, id: str, opened: InteractionOpened, shown: InteractionOpened, *, by_hook: bool) -> None:
        self._waits(1)
        try:
            answer = await self._post.inbox.wait(self._post.session_id, shown)
        except asyncio.CancelledError:
            self._close(id, InteractionClosed(shown.id, "cancelled", by="withdrawn"))
            raise
        finally:
            self._waits(-1)
        outcome: Literal["allowed", "denied"] = "allowed" if answer.allow else "denied"
        if not self._close(id, InteractionClosed(shown.id, outcome, answer.message, answer.by, answer.input)):
            return
        whole = restored(opened.call.input, shown.call.input, answer.input)
        answer = self._post.reading.answer(opened.call, answer, whole)
        response = hook_response(opened, answer, whole) if by_hook else permission_response(answer, whole)
        self._post.send(success(id, response))

    def _waits(self, change: int) -> None:
        before, self._waiting = self._waiting, self._waiting + change
        if bool(before) != bool(self._waiting):
            self._post.idle(bool(self._waiting))

    def _cancel(self, id: str, by: str) -> None:
        entry = self._open.get(id)
        if entry is not None:
            self._close(id, InteractionClosed(entry.opened.id, "cancelled", by=by))
            if entry.task is not None:
                entry.task.cancel()

    def _close(self, id: str, closed: InteractionClosed) -> bool:
        """Record how it ended, once. False if it had ended before."""
        if self._open.pop(id, None) is None:
            return False
        self._post.store(closed, "", "")
        return True


def permission_response(answer: Answer, input: dict[str, Any]) -> dict[str, Any]:
    if answer.allow:
        allowed: dict[str, Any] = {"behavior": "allow", "updatedInput": input}
        return {**allowed, "updatedPermissions": list(answer.updates)} if answer.updates else allowed
    denied: dict[str, Any] = {"behavior": "deny", "message": answer.message or DECLINED}
    return {**denied, "interrupt": True} if answer.interrupt else denied


def hook_response(opened: InteractionOpened, answer: Answer, input: dict[str, Any]) -> dict[str, Any]:
    """S004-22: a question is kept from running, and the reason for that is its answer."""
    if answer.allow and opened.kind != "question":
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
    words = answered(input) if answer.allow else answer.message or DECLINED
    output = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": words}
    return {"decision": "block", "reason": words, "hookSpecificOutput": output}


def answered(input: dict[str, Any]) -> str:
    """A person's answers to questions, as text for the model (S004-24)."""
    lines = []
    for question, said in record(input, "answers").items():
        words = ", ".join(map(str, said)) if isinstance(said, list | tuple) else str(said)
        lines.append(f"{question}: {words}")
    return "The user answered:\n" + "\n".join(lines)


def restored(real: dict[str, Any], shown: dict[str, Any], edited: dict[str, Any] | None) -> dict[str, Any]:
    """What is to be run: as edited, but what was only masked and not touched is what it was."""
    if edited is None:
        return real
    return {name: real[name] if name in real and shown.get(name) == value else value for name, value in edited.items()}


def _of_permission(request: dict[str, Any]) -> InteractionOpened:
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
    )


def _is_destructive(call: ToolCall) -> bool:
    """Where its shell stands is not known here; that decides nothing about what a command destroys."""
    command = call.input.get("command")
    return isinstance(command, str) and is_destructive(command, "/", "/")


def _of_hook(call: dict[str, Any]) -> InteractionOpened:
    asked = ToolCall(text(call, "tool_use_id") or new_id(), text(call, "tool_name"), record(call, "tool_input"))
    return InteractionOpened(new_id(), _kind(asked, personal=True), asked)


def _kind(call: ToolCall, *, personal: bool) -> Kind:
    if isinstance(call.input.get("questions"), list):
        return "question"
    return "plan" if _PLAN.match(call.name) or (personal and "plan" in call.input) else "permission"
