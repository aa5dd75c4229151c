"""Events of commands that run in the background of a session."""

from typing import Literal, TypeAlias

from msgspec import Struct

BackgroundStatus: TypeAlias = Literal["completed", "failed", "killed", "lost"]


class BackgroundEvent(Struct, frozen=True):
    """Group of the events of a background command."""


class BackgroundStarted(BackgroundEvent, frozen=True, tag="background_started", omit_defaults=True):
    """A command runs in the background while the session continues."""

    id: str
    call_id: str
    title: str
    """The model's description of it, or the beginning of the command."""
    output_file: str = ""
    awaited: bool = True
    """False for processes that a command left running when it ended: nothing waits for their end."""


class BackgroundEnded(BackgroundEvent, frozen=True, tag="background_ended", omit_defaults=True):
    """A background command ended. A `Prompted` with the same id tells the model; `InputDropped` means it knows."""

    id: str
    call_id: str
    title: str
    status: BackgroundStatus
    """`lost`: the program that ran it ended before it did."""
    code: int | None = None
    output_file: str = ""
    tell: Literal["wake", "next_turn", "no"] = "wake"
    """When the model is told: at once (in a turn of its own if needed), with the next prompt, or not at all."""
    note: str = ""
    """What the model is told; only of a hook that ran in the background. Of a command it is told the summary."""

    @property
    def notice(self) -> str:
        """Id of the `Prompted` that reports it."""
        return self.id

    @property
    def summary(self) -> str:
        if self.note:
            return self.note
        match self.status:
            case "completed":
                return f'Background command "{self.title}" completed (exit code {self.code or 0})'
            case "failed":
                return f'Background command "{self.title}" failed with exit code {self.code}'
            case "killed":
                return f'Background command "{self.title}" was stopped'
            case "lost":
                return f'Background command "{self.title}" was lost: the program that ran it ended before it did'
