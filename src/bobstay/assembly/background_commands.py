"""Background work of an agent: records when commands end, waits for them and for sub-agents, and stops them."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from bobstay.engine.event_redaction import redact_event
from bobstay.engine.journal import Journal
from bobstay.engine.running_agent import RunningAgent
from bobstay.model.background_events import BackgroundEnded, BackgroundStarted
from bobstay.model.event import Event
from bobstay.model.ids import new_id
from bobstay.sessions.log import LogError
from bobstay.tools.shell_job import ShellJob, Tell
from bobstay.tools.shell_session import ShellSession

log = logging.getLogger(__name__)

_LONGEST_NOTE = 10_000


class BackgroundCommands:
    """One per agent. It observes its journal, so that it knows which starts are stored."""

    def __init__(self, journal: Journal, shells: ShellSession, agents: Callable[[], list[RunningAgent]] = list) -> None:
        """`agents` returns the sub-agents that this agent started and that run."""
        self.listeners: list[Callable[[BackgroundEnded], object]] = []
        """Called with each end once it is stored."""
        self.server_after = 10.0
        """Seconds of silence after which a command that listens on a port is taken for a server."""
        self.look_every = 1.0
        self.hooks: set[asyncio.Future[None]] = set()
        """Hooks that run in the background and may wake the model."""
        self._journal = journal
        self._shells = shells
        self._agents = agents
        self._early: dict[str, BackgroundEnded] = {}
        """Ends of commands whose start is not stored yet, by command id."""
        shells.listeners.append(self._on_finished)

    def record_lost(self) -> None:
        """Record the commands that an earlier process left running as lost."""
        for id, started in self._journal.state.background.items():
            tell: Tell = "next_turn" if started.awaited else "no"
            lost = BackgroundEnded(id, started.call_id, started.title, "lost", None, started.output_file, tell)
            self._record(lost)

    @property
    def has_wake_notice(self) -> bool:
        """Whether a command has ended whose end is reported to the model at once."""
        return any(notice.tell == "wake" for notice in self._journal.state.notices)

    @property
    def is_awaited(self) -> bool:
        """Whether a command, sub-agent or hook is running whose end will be reported to the model."""
        awaited = bool(self.hooks) or bool(self._agent_ends())
        return awaited or any(job.tell == "wake" for job in self._shells.in_background)

    def wake(self, hook: str, text: str) -> None:
        """Tell the model what a hook in the background found, in a turn of its own if none runs."""
        self._record(BackgroundEnded(new_id(), "", hook, "failed", 2, note=text[:_LONGEST_NOTE]))

    def to_background(self, call_id: str = "") -> tuple[str, ...]:
        """Move the command of a call to the background, or all commands that calls wait for. Returns their ids."""
        return self._shells.detach(call_id)

    async def wait(self, seconds: float) -> bool:
        """Wait until a command or sub-agent ends whose end is reported to the model; False if there is none.

        Servers (commands that listen on a port and have been silent for a while) are not waited for, nor are
        processes that a finished command left running.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while not self.has_wake_notice:
            waiting: list[asyncio.Future[Any]] = [
                *(
                    job.finished
                    for job in self._shells.in_background
                    if job.tell == "wake" and not self._is_server(job)
                ),
                *self.hooks,
                *self._agent_ends(),
            ]
            left = until - loop.time()
            if not waiting or left <= 0:
                return False
            pause = min(left, self.look_every)
            await asyncio.wait(waiting, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        return True

    async def stop(self, id: str) -> bool:
        """Stop one command for a person; the model is told with the next prompt. False if it is not running."""
        job = next((job for job in self._shells.in_background if job.id == id), None)
        if job is None:
            return False
        await self._shells.stop(job, tell="next_turn")
        return True

    async def end(self) -> tuple[str, ...]:
        """Stop all commands because the session is about to be closed. Returns their titles."""
        jobs = self._shells.in_background
        await asyncio.gather(*(self._shells.stop(job, tell="next_turn") for job in jobs))
        return tuple(job.title for job in jobs)

    def _agent_ends(self) -> "list[asyncio.Future[Any]]":
        return [agent.ended for agent in self._agents() if agent.started.background]

    def apply(self, event: Event) -> None:
        if isinstance(event, BackgroundStarted) and event.id in self._early:
            asyncio.get_running_loop().call_soon(self._record, self._early.pop(event.id))

    def _on_finished(self, job: ShellJob) -> None:
        ended = job.ended_event()
        if job.id in self._journal.state.background:
            self._record(ended)
        else:
            self._early[job.id] = ended

    def _record(self, ended: BackgroundEnded) -> None:
        try:
            self._journal.record(redact_event(ended, self._shells.redactor))
        except LogError as error:
            log.warning("the end of a background command could not be stored: %s", error)
            return
        for listener in self.listeners:
            listener(ended)

    def _is_server(self, job: ShellJob) -> bool:
        if job.seconds_silent < self.server_after:
            return False
        from bobstay.system.listening_ports import is_listening

        return is_listening(self._shells.processes(job))
