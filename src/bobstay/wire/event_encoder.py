"""Encodes the events of a session as frames of the wire, without side effects."""

from collections.abc import Callable, Sequence

from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.model.api_shape import block_json, message_json, prompt_content, reply_content
from bobstay.model.background_events import BackgroundEnded, BackgroundStarted
from bobstay.model.event import (
    Advised,
    BlockDone,
    Event,
    HookRan,
    InputDropped,
    InputQueued,
    InteractionClosed,
    InteractionOpened,
    MessageDone,
    ModeChanged,
    ModelChanged,
    Noted,
    PermissionsChanged,
    Prompted,
    Pruned,
    Raw,
    RunDone,
    SessionStarted,
    TasksReplaced,
    ToolDone,
    ToolStarted,
    TurnStarted,
)
from bobstay.model.ids import new_id
from bobstay.model.live_events import (
    BlockBegan,
    InputDelta,
    MessageBegan,
    Requesting,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
)
from bobstay.model.message import ToolCall
from bobstay.model.session_events import ArtifactMade, Configured, InterruptAsked, SessionChanged, WorkerEvent
from bobstay.redaction.redactor import Redactor
from bobstay.wire import wire_frames
from bobstay.wire.background_frames import BackgroundTasks
from bobstay.wire.partial_frames import Partials
from bobstay.wire.result_frame import RESULT_ROWS, STATUS_ERROR_TYPES, Tally, TotalsLike, error_type, result_frame
from bobstay.wire.tool_result_frames import display, is_denied_by_policy, permission_meta
from bobstay.wire.wire_frames import Facts, Frame

INTERRUPTED = {
    "interrupted_streaming": "[Request interrupted by user]",
    "interrupted_tools": "[Request interrupted by user for tool use]",
}

VISIBLE_REASONS = frozenset(
    {"skill", "stop_hook", "output_limit", "structured_output", "broken_off", "repeat", "interrupt", "message"}
)
"""Input of the harness that hosts are shown, by its `why`; the rest accompanies something they see anyway."""

_PIECES = (TextDelta, ThinkingDelta, InputDelta, BlockBegan, ToolProgress)


class EventEncoder:
    """The encoder of one session. Pass it every event in order, and send the frames it returns in order."""

    def __init__(
        self,
        session_id: str,
        facts: Callable[[], Facts],
        totals: Callable[[], TotalsLike],
        *,
        partial: bool = False,
        replay: bool = False,
        entry: Callable[[], str] = new_id,
        redactor: Redactor | None = None,
    ) -> None:
        """`entry` returns the id under which the current event is stored: a host may use it to resume there."""
        self._entry = entry
        self._id = session_id
        self._facts = facts
        self._totals = totals
        self._partials = Partials(session_id, redactor or Redactor()) if partial else None
        self._replay = replay
        self._mode = ""
        self._turn_open = False
        self._waiting: list[Frame] = []
        """Frames that precede the turn's `init` frame in time, and are sent right after it."""
        self._calls: dict[str, ToolCall] = {}
        self._asked: set[str] = set()
        """Calls with an approval request that have not started: an interrupt counts as a denial of them."""
        self._folded: list[str] = []
        self._interruption_sent = False
        self._tally = Tally()
        self.results = 0
        """How many results the host has got, also from sessions whose place this one took."""
        self.background = BackgroundTasks(session_id)
        """For events of sub-agents, which are not those of the session itself."""

    def frames(self, event: Event) -> Sequence[Frame]:  # noqa: PLR0911, PLR0912, C901 - one row a kind of event
        if self._partials is None and isinstance(event, _PIECES):
            return ()
        match event:
            case Requesting() | MessageBegan() | BlockBegan() | TextDelta() | ThinkingDelta() | InputDelta():
                return self._streamed(event)
            case BlockDone():
                return self._block(event)
            case MessageDone():
                return self._message_done(event)
            case ToolDone():
                return self._tool_done(event)
            case Prompted():
                return self._prompted(event)
            case TurnStarted():
                return self._turn_started()
            case RunDone():
                return self._run_done(event)
            case Retrying():
                return self._retrying(event)
            case ModeChanged():
                return self.mode(event.mode)
            case ModelChanged():
                return self._model_changed(event)
            case Noted() | SessionChanged():
                return self._notice(event)
            case InteractionOpened() | ToolStarted():
                return self._asking(event)
            case BackgroundStarted() | BackgroundEnded():
                return self.background.frames(event)
            case AgentStarted() | AgentEnded():
                return self.background.of_agent(event.id, event)
            case (
                ToolProgress()
                | SessionStarted()
                | InputQueued()
                | InputDropped()
                | InteractionClosed()
                | Advised()
                | TasksReplaced()
                | Pruned()
                | PermissionsChanged()
                | HookRan()
                | ArtifactMade()
                | Configured()
                | InterruptAsked()
                | WorkerEvent()
                | Raw()
            ):
                return ()

    def mode(self, mode: str) -> Sequence[Frame]:
        """Return the frame for a permission mode, unless it was already sent."""
        if mode == self._mode:
            return ()
        self._mode = mode
        return [wire_frames.system(self._id, "status", status=None, permissionMode=mode)]

    def local_output(self, text: str) -> Frame:
        """Return the frame for the output of a command that ran without the model."""
        return wire_frames.user(self._id, f"<local-command-stdout>{text}</local-command-stdout>", isReplay=True)

    def _streamed(
        self, event: Requesting | MessageBegan | BlockBegan | TextDelta | ThinkingDelta | InputDelta
    ) -> Sequence[Frame]:
        partials = self._partials
        if partials is None:
            return ()
        match event:
            case TextDelta():
                return partials.text(event)
            case ThinkingDelta():
                return partials.thinking(event)
            case InputDelta():
                return partials.input(event)
            case BlockBegan():
                return partials.block_began(event)
            case MessageBegan():
                return partials.message_began(event)
            case Requesting():
                return [wire_frames.system(self._id, "status", status="requesting")]

    def _block(self, event: BlockDone) -> list[Frame]:
        if isinstance(event.block, ToolCall):
            self._calls[event.block.id] = event.block
        message = message_json("assistant", (event.block,), id=event.message_id, model=event.model, usage=event.usage)
        frame = wire_frames.assistant(self._id, message, uuid=self._entry())
        if event.partial:
            frame["aborted"] = True
        if self._tally.prompts:
            frame["user_message_uuids"] = self._tally.prompts
        if self._partials is None:
            return [frame]
        return [*self._partials.before_block(event), frame, *self._partials.after_block(event)]

    def _tool_done(self, event: ToolDone) -> list[Frame]:
        reply = event.reply
        call = self._calls.pop(reply.call_id, None)
        frames: list[Frame] = []
        name = event.name or (call.name if call else "")
        if event.denied or (event.interrupted and reply.call_id in self._asked):
            tool_input = event.input if event.input is not None else (call.input if call else {})
            self._tally.denials.append({"tool_name": name, "tool_use_id": reply.call_id, "tool_input": tool_input})
            if is_denied_by_policy(event.decided) and not event.interrupted:
                frames.append(self._denial(event, name))
        content = {
            "tool_use_id": reply.call_id,
            "type": "tool_result",
            "content": reply_content(reply),
            "is_error": reply.is_error,
        }
        frame = wire_frames.user(self._id, [content], uuid=self._entry(), tool_use_result=display(event))
        if event.decided is not None or event.denied or event.interrupted:
            frame["tool_result_meta"] = [permission_meta(event)]
        self._tally.user_frames += 1
        return [*frames, frame]

    def _asking(self, event: InteractionOpened | ToolStarted) -> Sequence[Frame]:
        if isinstance(event, InteractionOpened):
            self._asked.add(event.call.id)
        else:
            self._asked.discard(event.call_id)
        return ()

    def _denial(self, event: ToolDone, name: str) -> Frame:
        fields = {"tool_name": name, "tool_use_id": event.reply.call_id, "message": event.reply.text}
        if event.decided is not None and event.decided.reason_type:
            fields["decision_reason_type"] = event.decided.reason_type
        return wire_frames.system(self._id, "permission_denied", **fields)

    def _prompted(self, event: Prompted) -> list[Frame]:
        self._tally.origins.add("human" if event.origin == "human" else event.why)
        if event.origin != "human":
            if event.why not in VISIBLE_REASONS:
                return []
            self._tally.user_frames += 1
            content = [block_json(block) for block in event.blocks]
            if event.why == "interrupt":
                self._interruption_sent = True
                return [wire_frames.user(self._id, content, uuid=self._entry())]
            return [wire_frames.user(self._id, content, uuid=self._entry(), isSynthetic=True)]
        frames: list[Frame] = []
        if self._replay:
            frames.append(
                wire_frames.user(
                    self._id, prompt_content(event.blocks), uuid=event.client_id or event.id, isReplay=True
                )
            )
        if event.client_id:
            self._tally.prompts.append(event.client_id)
            started = wire_frames.lifecycle(self._id, event.client_id, "started")
            if not self._turn_open:
                self._waiting.extend(frames)
                return [started]
            self._folded.append(event.client_id)
            frames.append(started)
        if self._turn_open:
            return frames
        self._waiting.extend(frames)
        return []

    def _notice(self, event: Noted | SessionChanged) -> list[Frame]:
        frame = wire_frames.notice(self._id, event)
        if isinstance(event, SessionChanged) and event.title is None:
            return []
        if self._turn_open:
            return [frame]
        self._waiting.append(frame)
        return []

    def _turn_started(self) -> list[Frame]:
        self._turn_open = True
        facts = self._facts()
        self._mode = facts.mode
        frames = [wire_frames.init(self._id, facts), *self._waiting]
        self._waiting = []
        return frames

    def _run_done(self, done: RunDone) -> list[Frame]:
        frames: list[Frame] = [] if self._turn_open else self._turn_started()
        if done.ending in INTERRUPTED and not self._interruption_sent:
            frames.append(wire_frames.user(self._id, [{"type": "text", "text": INTERRUPTED[done.ending]}]))
            self._tally.user_frames += 1
        if self._partials is not None:
            frames.extend(self._partials.close())
        if RESULT_ROWS[done.ending].synthetic:
            frames.append(self._api_error(done))
        if done.local and done.text:
            frames.append(wire_frames.assistant(self._id, wire_frames.synthetic(done.text, "end_turn")))
        if done.ending == "prompt_blocked":
            fields = {"content": done.text, "level": "warning", "prevent_continuation": True}
            frames.append(wire_frames.system(self._id, "informational", **fields))
        frames.extend(wire_frames.lifecycle(self._id, prompt, "completed") for prompt in self._folded)
        result = result_frame(self._id, done, self._tally, self._totals(), self.results)
        frames.append(result | {"subagent_stats": self.background.agent_stats})
        opening = [prompt for prompt in self._tally.prompts if prompt not in self._folded]
        frames.extend(wire_frames.lifecycle(self._id, prompt, "completed") for prompt in opening)
        self.results += 1
        self._tally = Tally()
        self._calls.clear()
        self._asked.clear()
        self._folded = []
        self._turn_open = self._interruption_sent = False
        return frames

    def _api_error(self, done: RunDone) -> Frame:
        stop = "refusal" if done.ending == "refused" else "stop_sequence"
        fields: Frame = {"error": error_type(done), "is_api_error_message": True}
        if done.status is not None:
            fields["api_error_status"] = done.status
            if done.status in STATUS_ERROR_TYPES:
                fields["api_error_type"] = STATUS_ERROR_TYPES[done.status]
        return wire_frames.assistant(self._id, wire_frames.synthetic(done.text, stop), **fields)

    def _retrying(self, event: Retrying) -> list[Frame]:
        closing = self._partials.close() if self._partials else []
        return [*closing, wire_frames.api_retry(self._id, event)]

    def _message_done(self, event: MessageDone) -> list[Frame]:
        self._tally.usage += event.usage
        if event.broken == "lost":
            return self._partials.close() if self._partials else []
        self._tally.stop = event.stop
        return self._partials.message_done(event) if self._partials else []

    def _model_changed(self, event: ModelChanged) -> list[Frame]:
        if event.why == "restored":
            return self._notice(Noted(f"Using {event.model} again; {event.previous} stood in for it in the last turn."))
        if event.why != "fallback":
            return []
        content = f"Switched from {event.previous} to {event.model}, which was named as a fallback"
        return [
            wire_frames.system(
                self._id,
                "model_fallback",
                trigger="overloaded",
                original_model=event.previous,
                fallback_model=event.model,
                content=content,
            )
        ]
