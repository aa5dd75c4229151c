"""The moments at which somebody else may look in, and what they may answer."""

from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

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
    "SessionStart",
    "SessionEnd",
    "Notification",
]


class HookCall(Struct, frozen=True):
    """One moment. `fields` are what this event adds to the common fields of the wire (SPEC 6.2)."""

    name: HookName
    fields: dict[str, Any]
    subject: str = ""
    """What a matcher is compared with: the tool's name, for tool events."""
    tool_use_id: str = ""
    accesses: tuple[Access, ...] = ()
    """What the call would touch, for tool events: conditions of hooks are compared with it."""

    @property
    def label(self) -> str:
        """Event and subject, such as `PreToolUse:Bash`."""
        return f"{self.name}:{self.subject}" if self.subject else self.name


class HookMessage(Struct, frozen=True):
    """Text of or about a hook, for the person; the model never reads it."""

    text: str
    level: Literal["notice", "warning"] = "notice"
    tag: Literal["", "hook_no_verdict"] = ""
    """`hook_no_verdict` for a hook that did not answer in time."""


class HookOutcome(Struct, frozen=True):
    """The answers of all hooks of one moment, strictest first."""

    decision: Literal["", "allow", "deny", "ask", "defer", "block"] = ""
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    updated_output: Any = None
    context: tuple[str, ...] = ()
    """Text for the model to read beside the result or prompt."""
    stop: bool = False
    """`continue: false`: the run ends here."""
    stop_reason: str = ""
    messages: tuple[HookMessage, ...] = ()
    permission: dict[str, Any] | None = None
    """PermissionRequest only: an answer in the shape a host would give."""
    title: str = ""
    """UserPromptSubmit only: what the session is called from here on."""


NO_OPINION = HookOutcome()


class Ran(Struct, frozen=True):
    """How a command ended."""

    code: int | None
    """None if it did not end by itself."""
    stdout: str
    stderr: str


class HookReport(Struct, frozen=True):
    """What a hook of the settings is doing, for programs that follow along. Without `ran` it was just started."""

    id: str
    name: str
    """Event and subject, such as `PreToolUse:Bash`."""
    event: HookName
    ran: Ran | None = None
    outcome: str = "success"
    """Or `error`, or `cancelled`: it was ended before it ended."""


class Hooks(Protocol):
    def wants(self, name: HookName, subject: str = "") -> bool:
        """Cheap: whether any hook would be called, so that nobody builds fields in vain."""
        ...

    async def run(self, call: HookCall) -> HookOutcome: ...
