"""Policy for external engines in read-only workflows: judges their requests by bobstay's own rules."""

from typing import Any

from bobstay.engine.engine_ports import Answer
from bobstay.model.message import ToolCall
from bobstay.model.session_events import SessionConfig
from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import Rule
from bobstay.server.workflows import EDITING, allows_mode, is_read_only

COMMANDS = frozenset({"Bash", "Monitor"})
"""Tools whose `command` is given to a shell."""


class ReadOnlyPolicy:
    """The restriction of one session. It does not apply to other workflows, where the engine and people decide."""

    def __init__(self, config: SessionConfig, cwd: str, home: str) -> None:
        self._config = config
        self._policy = Policy(
            "default", [Rule.parse(text, Effect.DENY, "workflow") for text in EDITING], root=cwd, home=home
        )
        self._policy.read_only = True

    @property
    def applies(self) -> bool:
        return is_read_only(self._config)

    def decision(self, call: ToolCall) -> PolicyDecision | None:
        """Allow a call that only reads, deny one that certainly writes; None or ASK if a person must decide."""
        if not self.applies:
            return None
        if call.name in EDITING:
            return self._policy.judge(call.name, (), call.input, read_only=False)
        command = call.input.get("command")
        if call.name not in COMMANDS or not isinstance(command, str):
            return None
        return self._policy.judge("Bash", (Access("exec", command),), call.input, read_only=False)

    def answer(self, call: ToolCall, given: Answer, input: dict[str, Any]) -> Answer:
        """A person's answer, restricted by the workflow: valid for this call only, and not for writing."""
        if not self.applies or not given.allow:
            return given
        decided = self.decision(ToolCall(call.id, call.name, input))
        if decided is not None and decided.effect is Effect.DENY:
            return Answer(False, refusal(decided), by=given.by)
        kept = tuple(update for update in given.updates if self._may_change(update))
        return Answer(True, given.message, given.input, kept, by=given.by)

    def _may_change(self, update: dict[str, Any]) -> bool:
        return update.get("type") == "setMode" and allows_mode(self._config, str(update.get("mode")))


def refusal(decided: PolicyDecision) -> str:
    return f"This session is read-only; nothing may be changed in it. {decided.why}"
