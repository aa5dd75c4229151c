"""Judges what an external engine asks for in a workflow that only reads: commands by our own policy, not by its."""

from typing import Any

from bobstay.engine.engine_ports import Answer
from bobstay.model.message import ToolCall
from bobstay.model.session_events import SessionConfig
from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import Rule
from bobstay.server.workflows import EDITING, may_be_in, only_reads

COMMANDS = frozenset({"Bash", "Monitor"})
"""Tools whose `command` is given to a shell."""


class ReadOnlyPolicy:
    """The restriction of one session. Without one everything is left to the engine and to people."""

    def __init__(self, config: SessionConfig, cwd: str, home: str) -> None:
        self._config = config
        self._policy = Policy(
            "default", [Rule.parse(text, Effect.DENY, "workflow") for text in EDITING], root=cwd, home=home
        )
        self._policy.read_only = True

    @property
    def holds(self) -> bool:
        return only_reads(self._config)

    def decision(self, call: ToolCall) -> PolicyDecision | None:
        """Allowed where it only reads, denied where it surely writes; None or ASK where a person must say so."""
        if not self.holds:
            return None
        if call.name in EDITING:
            return self._policy.judge(call.name, (), call.input, read_only=False)
        command = call.input.get("command")
        if call.name not in COMMANDS or not isinstance(command, str):
            return None
        return self._policy.judge("Bash", (Access("exec", command),), call.input, read_only=False)

    def answer(self, call: ToolCall, given: Answer, input: dict[str, Any]) -> Answer:
        """A person's answer, as far as the workflow allows it: good for this call, and not for writing."""
        if not self.holds or not given.allow:
            return given
        decided = self.decision(ToolCall(call.id, call.name, input))
        if decided is not None and decided.verdict is Effect.DENY:
            return Answer(False, refusal(decided), by=given.by)
        kept = tuple(update for update in given.updates if self._may_change(update))
        return Answer(True, given.message, given.input, kept, by=given.by)

    def _may_change(self, update: dict[str, Any]) -> bool:
        return update.get("type") == "setMode" and may_be_in(self._config, str(update.get("mode")))


def refusal(decided: PolicyDecision) -> str:
    return f"This session only reads; nothing may be changed in it. {decided.why}"
