"""Events of commands that run in the background of a session."""

from typing import Literal, TypeAlias

from msgspec import Struct

BackgroundStatus: TypeAlias = Literal["completed", "failed", "killed", "lost"]


class BackgroundStarted(Struct, frozen=True, tag="background_started", omit_defaults=True):
    """A command goes on in the background while the session does other things."""

    id: str
    call_id: str
    title: str
    """What it does, in the model's words, or the beginning of the command."""
    output_file: str = ""
    awaited: bool = True
    """False for processes that a command left running when it ended: nobody asked for their end."""


class BackgroundEnded(Struct, frozen=True, tag="background_ended", omit_defaults=True):
    """A background command is over. A `Prompted` of the same id tells the model; `InputDropped` says it knows."""

    id: str
    call_id: str
    title: str
    status: BackgroundStatus
    """`lost`: the program that ran it ended before it did."""
    code: int | None = None
    output_file: str = ""
    tell: Literal["wake", "next_turn", "no"] = "wake"
    """Whether the model is told at once, by a turn of its own if need be, or with the next prompt, or not at all."""

    @property
    def summary(self) -> str:
        match self.status:
            case "completed":
                return f'Background command "{self.title}" completed (exit code {self.code or 0})'
            case "failed":
                return f'Background command "{self.title}" failed with exit code {self.code}'
            case "killed":
                return f'Background command "{self.title}" was stopped'
            case "lost":
                return f'Background command "{self.title}" was lost: the program that ran it ended before it did'
