"""Process worker: runs any command that speaks stream-json, such as `claude` or `bobstay`, as a session's agent."""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any, Literal, TypeAlias

from bobstay.model.event import InputQueued, ModeChanged, ModelChanged, Noted
from bobstay.model.message import Image
from bobstay.model.session_events import WorkerExited, WorkerStarted
from bobstay.redaction.redactor import Redactor
from bobstay.server.capacity import CapacitySeat
from bobstay.server.errors import ApiError
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.sessions.orphan_sweep import start_moment
from bobstay.server.workers.bypass_timer import BypassTimer
from bobstay.server.workers.process.approval_requests import ApprovalPorts, ApprovalRequests
from bobstay.server.workers.process.engine_input import EngineInput
from bobstay.server.workers.process.engine_process import EngineProcess
from bobstay.server.workers.process.engine_redaction import EngineRedaction
from bobstay.server.workers.process.engine_version import version_warning
from bobstay.server.workers.process.event_recorder import EventRecorder, RecorderCallbacks
from bobstay.server.workers.process.read_only_policy import ReadOnlyPolicy
from bobstay.server.workers.process.resume_point import ResumePoint
from bobstay.server.workers.process.shutdown import describe_exit, end_process, interrupt_turn, signal_name
from bobstay.server.workers.process.spawner import NOTHING, ProcessServices, Spawner, WorkerFiles
from bobstay.server.workers.process.untrusted_fields import text
from bobstay.server.workers.worker import Kind, WorkerError
from bobstay.server.workflows import MODES, allows_mode
from bobstay.sessions.log import LogError

log = logging.getLogger(__name__)
Why: TypeAlias = Literal["stopped", "asleep", "killed"]
EPHEMERAL_NOTICE = "This session is ephemeral: the engine kept nothing of the earlier messages and starts over."


class ProcessWorker:
    kind: Kind = "process"

    def __init__(
        self,
        id: str,
        epoch: int,
        session: OpenSession,
        command: Sequence[str],
        parts: ProcessServices,
        own: WorkerFiles = NOTHING,
    ) -> None:
        """`own` are the secrets of this session; they are not in its log."""
        self.id = id
        self.epoch = epoch
        self._session = session
        self._parts = parts
        self._live = session.view.config.live
        self._spawner = Spawner(tuple(command), session, parts, own)
        self._past = ResumePoint()
        self._past.catch_up(session)
        redaction = EngineRedaction(Redactor(parts.environment.secrets | own.secrets()))
        handlers = (self._control, self._known, self._spoke, self._introduced)
        callbacks = RecorderCallbacks(*handlers, self._turn_over, self._storage_failed)
        self._recorder = EventRecorder(session, redaction, self._past, callbacks)
        self._wire = EngineInput()
        agent, store = self._recorder.normaliser.agent, self._recorder.store
        reading = ReadOnlyPolicy(session.view.config, session.view.cwd, parts.environment.paths.home)
        send, broken = self._wire.send, self._storage_failed
        self._seat = CapacitySeat(parts.capacity)
        ports = ApprovalPorts(
            session.id, parts.inbox, redaction.redactor, store, send, agent, self._seat.set_waiting, broken, reading
        )
        self._approvals = ApprovalRequests(ports)
        self._engine_session = ""
        self._why: Why | Literal[""] = ""
        self._reason = ""
        """Why it is being ended, if so."""
        self._wake = asyncio.Event()
        self._down = asyncio.Event()
        """Set when this worker has ended, and the log says so."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._bypass = BypassTimer(lambda: self._task("bypass", self._end_bypass()))

    # ------------------------------------------------------------ AgentWorker

    async def start(self) -> None:
        if self._tasks or self._down.is_set():
            raise WorkerError("This worker was started before.")
        try:
            await self._spawner.prepare()
            if self._live:
                await self._spawn(None)
            else:
                self._started(0)
        except WorkerError as error:
            self._session.record(self._exited(why="not_started", error=str(error)))
            self._down.set()
            raise
        self._task("serve", self._serve())

    async def stop(self, why: Why = "stopped", reason: str = "") -> None:
        if not self.alive():
            return
        self._reason = reason
        if not self._why or why == "killed":
            self._why = why
        engine = self._wire.engine
        if engine is None:
            await self._end(0)
            return
        self._recorder.normaliser.interrupting = self._recorder.in_turn
        if why != "killed":
            say = self._wire.interrupt if self._live else None
            await end_process(engine, self._recorder.over, self._parts.timeouts, say)
        if not engine.ended.done():
            engine.kill()
        await self._down.wait()

    def alive(self) -> bool:
        return bool(self._tasks) and not self._down.is_set()

    async def is_outdated(self) -> bool:
        return await asyncio.to_thread(self._spawner.is_outdated)

    @property
    def busy(self) -> bool:
        return self.alive() and self._recorder.in_turn

    def nudge(self) -> None:
        self._wake.set()
        if self.busy and self._live and not self._recorder.normaliser.interrupting:
            try:
                self._steer()
            except LogError as error:
                self._storage_failed(error)

    async def interrupt(self, *, force: bool = False) -> None:
        if force or not self.busy:
            await self.stop("killed" if force else "stopped")
            return
        self._recorder.normaliser.interrupting = True
        ladder = self._tasks.get("interrupt")
        if ladder is None or ladder.done():
            ladder = self._task("interrupt", self._end_turn())
        await asyncio.shield(ladder)

    async def set_mode(self, mode: str) -> None:
        config = self._session.view.config
        if not allows_mode(config, mode):
            label = MODES[config.workflow].label
            raise ApiError("wrong_state", f"A session in {label} mode cannot be put into {mode}.")
        if self._live and self.alive():
            await self._wire.request_change("set_permission_mode", mode=mode)
        if self._recorder.normaliser.mode != mode:
            self._recorder.normaliser.mode = mode
            self._session.record(ModeChanged(mode))
        self._bypass.set(mode, config.bypass_until)

    async def set_model(self, model: str) -> None:
        if self._live and self.alive():
            await self._wire.request_change("set_model", model=model)
        previous = self._recorder.normaliser.model
        if previous != model:
            self._recorder.normaliser.model = model
            self._session.record(ModelChanged(model, previous=previous))

    # ------------------------------------------------------------ prompts

    async def _serve(self) -> None:
        """Process one input after the other."""
        try:
            while not self._down.is_set():
                await asyncio.wait([self._recorder.over])
                if self._next() is None:
                    self._wake.clear()
                    await self._wake.wait()
                    continue
                async with self._seat.hold():
                    queued = self._next()
                    if queued is not None and not self._recorder.in_turn:
                        await self._turn(queued)
        except WorkerError as error:
            self._recorder.cut_off("failed", str(error))
            self._finish(self._exited(why="not_started", error=str(error)))
        except LogError as error:
            self._storage_failed(error)
            if self._wire.engine is None:
                self._finish(self._exited(why="killed", error=str(error)))

    async def _turn(self, queued: InputQueued) -> None:
        self._recorder.begin(queued)
        if self._live:
            self._prompt(queued)
        else:
            await self._spawn(queued)
        await asyncio.wait([self._recorder.over])
        if not self._live:
            await asyncio.wait([self._tasks["watch"]])

    def _next(self) -> InputQueued | None:
        """The next input; none while the engine itself has a queued one."""
        queue = self._session.view.queued
        if not queue or self._why or self._recorder.normaliser.queued or (self._live and not self._wire.is_open):
            return None
        return self._input(queue[0].id)

    def _input(self, id: str) -> InputQueued | None:
        self._past.catch_up(self._session)
        return self._past.inputs.get(id)

    def _steer(self) -> None:
        for entry in self._session.view.queued:
            if entry.how == "steer" and (queued := self._input(entry.id)) is not None:
                self._recorder.steer(queued)
                self._prompt(queued)

    def _prompt(self, queued: InputQueued) -> None:
        self._recorder.normaliser.sent.add(self._wire.prompt(queued))

    # ------------------------------------------------------------ the process

    async def _spawn(self, queued: InputQueued | None) -> None:
        if queued is not None and any(isinstance(block, Image) for block in queued.blocks):
            self._session.record(Noted("A command that runs once does not accept images: they are ignored.", "warning"))
        self._past.catch_up(self._session)
        config = self._session.view.config
        conversation = self._past.conversation(ephemeral=config.ephemeral, form=config.output_format)
        self._recorder.start_conversation(conversation.new or conversation.resume)
        engine = self._wire.engine = self._spawner.start(conversation, self.epoch, self._recorder.receive, queued)
        self._engine_session = "" if conversation.fork else conversation.resume
        if not conversation.resume:
            self._recorder.normaliser.reset_cost()
        self._started(engine.pid, ready=not self._live)
        self._task("watch", self._until_gone(engine))
        self._recorder.note_once(self._spawner.trust.notice)
        self._recorder.note_once(EPHEMERAL_NOTICE if config.ephemeral and self._past.engine_session else "")
        await engine.open_input()
        if self._live:
            self._wire.greet(hooked=self._parts.questions == "hook")
            self._bypass.set(self._spawner.mode, config.bypass_until)

    def _started(self, pid: int, *, ready: bool = True) -> None:
        moment = start_moment(pid) if pid else ""
        command = self._spawner.command
        started = WorkerStarted(self.id, "process", self.epoch, pid, moment, self._engine_session, command, ready)
        self._recorder.mute = not ready
        self._session.record(started)

    async def _end_turn(self) -> None:
        engine, over = self._wire.engine, self._recorder.over
        if engine is not None:
            by = await interrupt_turn(engine, over, self._parts.timeouts, self._wire.interrupt if self._live else None)
            if by == "force":
                self._why = "killed"
            await asyncio.wait([over])

    async def _until_gone(self, engine: EngineProcess) -> None:
        code = await engine.ended
        try:
            self._recorder.rest(code)
            await self._end(code)
        except Exception as error:  # the boundary of a worker: after a failure it must end completely
            log.exception("the process worker of %s failed", self._session.id)
            self._finish(self._exited(why="exit", code=code, error=f"The worker failed: {error}"))

    async def _end(self, code: int) -> None:
        """The process has ended, or there was none: close its turn, its interactions and its child processes."""
        message = self._recorder.errors() or describe_exit(code)
        expected = not code or (code == 1 and self._recorder.failed and not self._recorder.in_turn)
        if self._recorder.normaliser.interrupting and not self._why:
            self._why = "stopped"
        try:
            self._recorder.end(code, message, asked=bool(self._why))
            self._approvals.cancel_all("engine_ended")
        except LogError as error:
            log.warning("%s", error)
        engine = self._wire.engine
        self._wire.close()
        if engine is not None:
            await engine.clear()
        exited = self._exited(
            code=code, why=self._why or "exit", error=self._reason if expected or self._why else message
        )
        if self._live or self._why or not self._session.view.queued:
            self._finish(exited)
            return
        self._session.record(exited)
        self.epoch += 1
        self._started(0)

    def _finish(self, exited: WorkerExited) -> None:
        self._spawner.clear()
        self._parts.inbox.withdraw(self._session.id)
        self._bypass.cancel()
        try:
            self._session.record(exited)
        except LogError as error:
            log.warning("%s", error)
        self._down.set()
        self._wake.set()
        serving = self._tasks.get("serve")
        if serving is not None and serving is not asyncio.current_task():
            serving.cancel()

    def _exited(
        self, *, why: Literal["exit", "stopped", "asleep", "killed", "not_started"], code: int = 0, error: str = ""
    ) -> WorkerExited:
        name = signal_name(code)
        number = None if name or why == "not_started" else code
        return WorkerExited(self.id, "process", self.epoch, number, name, why, error)

    # ------------------------------------------------------------ callbacks of the recorder

    def _control(self, frame: dict[str, Any]) -> None:
        match frame["type"]:
            case "control_request":
                self._approvals.handle(frame)
            case "control_response":
                self._recorder.normaliser.surface.learn_commands(frame)
                self._wire.resolve(frame)
            case _:
                self._approvals.withdraw(frame)

    def _known(self, engine_session: str) -> None:
        self._engine_session = engine_session
        self._spoke()

    def _spoke(self) -> None:
        self._started(self._wire.engine.pid if self._wire.engine is not None else 0)

    def _introduced(self, frame: dict[str, Any]) -> None:
        self._recorder.note_once(version_warning(self._spawner.command, text(frame, "claude_code_version")))

    def _turn_over(self) -> None:
        self._approvals.cancel_all("turn_over")

    def _storage_failed(self, error: LogError) -> None:
        """Kill the engine: nothing may happen that cannot be stored."""
        log.warning("session %s: %s", self._session.id, error)
        self._why = "killed"
        if self._wire.engine is not None:
            self._wire.engine.kill()

    async def _end_bypass(self) -> None:
        try:
            await self.set_mode("default")
        except (ApiError, LogError) as error:
            log.warning("session %s cannot leave bypass mode and is stopped: %s", self._session.id, error)
            await self.stop()

    def _task(self, name: str, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = self._tasks[name] = asyncio.create_task(work, name=f"{name} {self._session.id}")
        return task
