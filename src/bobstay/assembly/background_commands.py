"""The background commands of a session: their end is stored and told, they can be awaited, moved there and stopped."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from bobstay.engine.driver import Driver
from bobstay.engine.event_redaction import conceal
from bobstay.model.background_events import BackgroundEnded, BackgroundStarted
from bobstay.model.event import Event
from bobstay.sessions.log import LogError
from bobstay.tools.shell_job import ShellJob, Tell
from bobstay.tools.shell_session import ShellSession

log = logging.getLogger(__name__)


class BackgroundCommands:
    """One for a session. It follows the log, to know what the log knows."""

    def __init__(self, parts: dict[str, Any]) -> None:
        """`parts` are those of the session's tools."""
        self.driver: Driver
        self.listeners: list[Callable[[BackgroundEnded], object]] = []
        """Told of each end once it is stored."""
        self.server_after = 10.0
        """Seconds of silence after which a command that listens on a port is taken for a server."""
        self.look_every = 1.0
        self._shells: ShellSession = parts["shells"]
        self._early: dict[str, BackgroundEnded] = {}
        """Ends of commands whose start is not stored yet."""
        self._shells.on_finished = self._finished
        parts["unread"] = self._is_unread

    def join(self, driver: Driver) -> None:
        """Begin to store what happens; first of all, that commands of an earlier process ended with it."""
        self.driver = driver
        for id, started in driver.state.background.items():
            tell: Tell = "next_turn" if started.awaited else "no"
            lost = BackgroundEnded(id, started.call_id, started.title, "lost", None, started.output_file, tell)
            self._record(lost)

    @property
    def has_wake_notice(self) -> bool:
        """Whether a command ended that the model is to be told of at once."""
        return any(notice.tell == "wake" for notice in self.driver.state.notices)

    @property
    def is_awaited(self) -> bool:
        """Whether a command runs whose end the model will be told of."""
        return any(job.tell == "wake" for job in self._shells.in_background)

    def to_background(self, call_id: str = "") -> tuple[str, ...]:
        """Move the command that a call waits for to the background, or all such commands. Returns their ids."""
        return self._shells.detach(call_id)

    async def wait(self, seconds: float) -> bool:
        """Wait for the end of a command that the model is to be told of; False if there is none to wait for.

        A server is not waited for: a command that listens on a port and has been silent for a while. Neither is what
        a finished command left running.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while not self.has_wake_notice:
            waiting = [
                job.finished for job in self._shells.in_background if job.tell == "wake" and not self._stays(job)
            ]
            left = until - loop.time()
            if not waiting or left <= 0:
                return False
            pause = min(left, self.look_every)
            await asyncio.wait(waiting, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        return True

    async def stop(self, id: str) -> bool:
        """End one command for a person; the model is told with the next prompt. False if it does not run."""
        job = next((job for job in self._shells.in_background if job.id == id), None)
        if job is None:
            return False
        await self._shells.stop(job, tell="next_turn")
        return True

    async def end(self) -> tuple[str, ...]:
        """End all commands because the session is about to be closed. Returns what they were."""
        jobs = self._shells.in_background
        await asyncio.gather(*(self._shells.stop(job, tell="next_turn") for job in jobs))
        return tuple(job.title for job in jobs)

    def apply(self, event: Event) -> None:
        if isinstance(event, BackgroundStarted) and event.id in self._early:
            asyncio.get_running_loop().call_soon(self._record, self._early.pop(event.id))

    def _is_unread(self, id: str) -> bool:
        return any(notice.id == id for notice in self.driver.state.notices)

    def _finished(self, job: ShellJob) -> None:
        ended = job.ended_event()
        if job.id in self.driver.state.background:
            self._record(ended)
        else:
            self._early[job.id] = ended

    def _record(self, ended: BackgroundEnded) -> None:
        try:
            self.driver.record(conceal(ended, self.driver.agent.toolbox.mask))
        except LogError as error:
            log.warning("the end of a background command could not be stored: %s", error)
            return
        for listener in self.listeners:
            listener(ended)

    def _stays(self, job: ShellJob) -> bool:
        if job.quiet < self.server_after:
            return False
        from bobstay.system.listening_ports import listens

        return listens(self._shells.processes(job))
