"""Hook events, their outcomes, and the protocol by which the engine calls hooks."""

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from bobstay.model.message import ModelSpend
from bobstay.permissions.access import Access

HookName: TypeAlias = Literal[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionRequest",
    "UserPromptSubmit",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "SessionStart",
    "SessionEnd",
    "Notification",
    "PermissionDenied",
    "UserPromptExpansion",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "ConfigChange",
    "MessageDisplay",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
]

EXPORTING: frozenset[HookName] = frozenset({"SessionStart", "CwdChanged", "FileChanged"})
"""Events whose hooks may export environment variables for the commands that follow."""


class HookCall(Struct, frozen=True):
    """One hook event. `fields` is the event's JSON, the common fields included."""

    name: HookName
    fields: dict[str, Any]
    subject: str = ""
    """What a matcher is compared with: the tool's name, for tool events."""
    tool_use_id: str = ""
    accesses: tuple[Access, ...] = ()
    """What the call would access, for tool events: hook conditions are matched against it."""
    env_files: str = ""
    """Events in `EXPORTING`: a folder for one file of environment variables per hook (`CLAUDE_ENV_FILE`)."""

    @property
    def label(self) -> str:
        """Event and subject, such as `PreToolUse:Bash`."""
        return f"{self.name}:{self.subject}" if self.subject else self.name


class AgentFacts(Struct, frozen=True):
    """The sub-agent that hook calls come from."""

    id: str
    type: str
    transcript_path: str = ""


class HookFacts:
    """The fields that all hook calls have in common: those of the session, of its turn, and of the agent."""

    def __init__(self, session: Callable[[], dict[str, Any]], agent: AgentFacts | None = None) -> None:
        """`agent` is set in a sub-agent; each agent has facts of its own."""
        self._session = session
        self.agent = agent
        self.prompt_id = ""
        """Id of the last prompt."""
        self.effort: str | None = None
        """Of the turn that runs."""

    def __call__(self) -> dict[str, Any]:
        facts = self._session()
        if self.prompt_id:
            facts["prompt_id"] = self.prompt_id
        if self.effort is not None:
            facts["effort"] = {"level": self.effort}
        if self.agent is not None:
            facts |= {"agent_id": self.agent.id, "agent_type": self.agent.type}
        return facts

    def for_agent(self, agent: AgentFacts) -> "HookFacts":
        """Return facts for a sub-agent of this agent, with the same prompt."""
        facts = HookFacts(self._session, agent)
        facts.prompt_id, facts.effort = self.prompt_id, self.effort
        return facts


class HookMessage(Struct, frozen=True):
    """A message from or about a hook, for the person; the model never reads it."""

    text: str
    level: Literal["notice", "warning"] = "notice"
    tag: Literal["", "hook_no_verdict"] = ""
    """`hook_no_verdict` for a hook that did not answer in time."""


class HookOutcome(Struct, frozen=True):
    """The merged answers of all hooks of one event."""

    decision: Literal["", "allow", "deny", "ask", "defer", "block"] = ""
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    updated_output: Any = None
    context: tuple[str, ...] = ()
    """Additional text for the model, next to the result or prompt."""
    stop: bool = False
    """`continue: false`: the run ends here."""
    stop_reason: str = ""
    messages: tuple[HookMessage, ...] = ()
    permission: dict[str, Any] | None = None
    """PermissionRequest only: an answer in the shape hosts use."""
    title: str = ""
    """UserPromptSubmit only: the new title of the session."""
    elicitation: dict[str, Any] | None = None
    """Elicitation only: `action` and `content`, in place of a person's answer."""
    retry: bool = False
    """PermissionDenied only: the model is told that it may make the call again."""
    failed: bool = False
    """A hook gave no usable answer."""
    spent: tuple[ModelSpend, ...] = ()
    """Model requests that hooks made."""
    label: str = ""
    """Event and subject that hooks ran for; "" as long as nobody recorded that."""
    duration_ms: int = 0

    @property
    def result(self) -> str:
        """The outcome in one word, for the log."""
        answer = str((self.permission or {}).get("behavior") or (self.elicitation or {}).get("action") or "")[:20]
        return self.decision or answer or ("stop" if self.stop else "error" if self.failed else "none")


NO_OPINION = HookOutcome()


class HookRunResult(Struct, frozen=True):
    """Exit code and output of a command hook, or the answer of an HTTP hook."""

    code: int | None
    """None if it was stopped or could not be started."""
    stdout: str
    stderr: str


class HookReport(Struct, frozen=True):
    """Progress of a hook from the settings, for hosts. Without `result` it has just started."""

    id: str
    name: str
    """Event and subject, such as `PreToolUse:Bash`."""
    event: HookName
    result: HookRunResult | None = None
    outcome: str = "success"
    """`success`, `error`, or `cancelled` if it was stopped."""
    status_message: str = ""
    """What its settings say to show while it runs."""


class Hooks(Protocol):
    def wants(self, name: HookName, subject: str = "") -> bool:
        """Whether any hook would be called. Cheap, so that callers can ask before they build the fields."""
        ...

    async def run(self, call: HookCall) -> HookOutcome: ...
