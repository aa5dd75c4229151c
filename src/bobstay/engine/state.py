"""The state of a session: an immutable fold of its events, the same live and on resume."""

from functools import reduce

from msgspec import Struct, field
from msgspec.structs import replace

from bobstay.model.agent_events import AgentEnded, AgentStarted
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
    Task,
    TasksReplaced,
    ToolDone,
    ToolStarted,
    TurnStarted,
)
from bobstay.model.live_events import LIVE
from bobstay.model.message import Block, Image, Message, ModelSpend, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.model.session_events import SessionEvent, WorkerEvent
from bobstay.system.chain import AppendOnlyChain

PRUNED = "[Old output removed to save room. Run the tool again if it is needed.]"
IMAGE_REMOVED = "[Image removed: the model's service refused its size.]"


class ModelUsage(Struct, frozen=True):
    """Usage of one model over the whole session."""

    usage: Usage = Usage()
    cost: float = 0.0
    calls: int = 0


class State(Struct, frozen=True):
    """The fold of a session's events.

    The conversation consists of closed messages, then the model's last answer and the user's blocks since then: calls
    get their replies while the answer is still streaming, so neither is complete before the next answer begins.
    """

    closed: AppendOnlyChain[Message] = field(default_factory=AppendOnlyChain[Message])
    answer_id: str = ""
    answer: tuple[Block, ...] = ()
    ended: MessageDone | None = None
    """How the last answer of this turn ended."""
    user_blocks: tuple[Block, ...] = ()
    turn: int = 0
    steps: int = 0
    """Model requests of this turn."""
    usage: Usage = Usage()
    """Of this turn."""
    context: int = 0
    """Tokens in the model's context at the end of its last answer."""
    cost: float = 0.0
    """Of the whole session, in US dollars; so are the next two."""
    api_ms: int = 0
    by_model: dict[str, ModelUsage] = {}
    tasks: tuple[Task, ...] = ()
    last_task_id: int = 0
    mode: str = ""
    model: str = ""
    chosen: str = ""
    """The model a person chose; `model` differs while a fallback replaces it."""
    queued: tuple[InputQueued, ...] = ()
    background: dict[str, BackgroundStarted] = {}
    """Commands that run in the background."""
    notices: tuple[BackgroundEnded | AgentEnded, ...] = ()
    """Ends of such commands, and of agents in the background, that the model does not know of yet."""
    agents: dict[str, AgentStarted] = {}
    """Every sub-agent this agent has started, as it was started last."""
    running_agents: frozenset[str] = frozenset()
    child_steps: int = 0
    """Model requests that sub-agents made during this turn."""
    started: frozenset[str] = frozenset()
    """Calls of the last answer that started to run."""
    abandoned: frozenset[str] = frozenset()
    """Calls of earlier answers that a crash prevented from starting and that have no reply."""
    interactions: tuple[InteractionOpened, ...] = ()
    """Open interactions."""
    granted: dict[str, InteractionClosed] = {}
    """Approvals of this turn by call id, each with the approved input."""
    lines_added: int = 0
    lines_removed: int = 0
    running: bool = False

    @property
    def messages(self) -> list[Message]:
        """The whole conversation. Closed messages are the same objects on every call."""
        messages = self.closed.to_list()
        messages.extend(self._unclosed())
        return messages

    @property
    def unanswered(self) -> tuple[ToolCall, ...]:
        """Calls of the last answer that have no reply."""
        answered = {block.call_id for block in self.user_blocks if isinstance(block, ToolReply)}
        return tuple(b for b in self.answer if isinstance(b, ToolCall) and b.id not in answered)

    @property
    def never_started(self) -> frozenset[str]:
        """Unanswered calls that never started. A call stays in this set, so the reply the model saw stays the same."""
        return self.abandoned | (frozenset(call.id for call in self.unanswered) - self.started)

    @property
    def last_text(self) -> str:
        """The last text block of the model's last message, which may have none."""
        if self.ended is not None and self.ended.message_id != self.answer_id:
            return ""
        return next((b.text for b in reversed(self.answer) if isinstance(b, Text)), "")

    @property
    def has_answer(self) -> bool:
        """Whether the model's last message has any block besides thinking."""
        if self.ended is not None and self.ended.message_id != self.answer_id:
            return False
        return any(not isinstance(block, Thinking) for block in self.answer)

    def apply(self, event: Event) -> "State":  # noqa: PLR0911, PLR0912, C901 - one arm a kind
        """The only way state changes."""
        if isinstance(event, LIVE):
            return self
        match event:
            case BlockDone(message_id=message_id, block=block):
                state = self if message_id == self.answer_id else self._close(message_id)
                return replace(state, answer=(*state.answer, block))
            case MessageDone():
                return self._count(event)
            case Advised():
                return self._count_request(event) if event.model else self
            case HookRan(spent=spent):
                return reduce(State._count_request, spent, self)
            case Prompted(id=id_, blocks=blocks):
                queued = tuple(entry for entry in self.queued if entry.id != id_)
                user_blocks = self.user_blocks if event.blocked else (*self.user_blocks, *blocks)
                return replace(self, user_blocks=user_blocks, queued=queued, notices=self._notices_except(id_))
            case ToolDone():
                return self._apply_reply(event)
            case ToolStarted(call_id=call_id):
                return replace(self, started=self.started | {call_id})
            case TurnStarted():
                return self._begin(event)
            case RunDone():
                return replace(self, running=False, interactions=(), granted={})
            case InteractionOpened() | InteractionClosed():
                return self._apply_interaction(event)
            case InputQueued() | InputDropped():
                return replace(self, queued=_update_queue(self.queued, event), notices=self._notices_except(event.id))
            case BackgroundStarted() | BackgroundEnded():
                return self._apply_background(event)
            case AgentStarted(id=id_):
                running = self.running_agents | {id_}
                return replace(self, agents={**self.agents, id_: event}, running_agents=running)
            case AgentEnded(id=id_):
                return replace(self, running_agents=self.running_agents - {id_}, notices=self._with_notice(event))
            case TasksReplaced(tasks=tasks, last_id=last_id):
                return replace(self, tasks=tasks, last_task_id=max(last_id, self.last_task_id))
            case ModeChanged(mode=mode):
                return replace(self, mode=mode)
            case ModelChanged(model=model, why=why):
                return replace(self, model=model, chosen=model if why == "asked" else self.chosen)
            case Pruned():
                return self._prune(event)
            case SessionEvent() | WorkerEvent() | PermissionsChanged() | Noted() | Raw():
                return self

    def _apply_reply(self, done: ToolDone) -> "State":
        added, removed = self.lines_added + done.lines_added, self.lines_removed + done.lines_removed
        return replace(self, user_blocks=(*self.user_blocks, done.reply), lines_added=added, lines_removed=removed)

    def apply_child(self, event: Event) -> "State":
        """Count an event of a sub-agent. Its conversation is a state of its own."""
        if isinstance(event, MessageDone):
            steps = self.child_steps if event.broken == "lost" else self.child_steps + 1
            return replace(self._count_request(event), child_steps=steps)
        if isinstance(event, Advised) and event.model:
            return self._count_request(event)
        if isinstance(event, HookRan):
            return reduce(State._count_request, event.spent, self)
        if isinstance(event, ToolDone):
            added, removed = self.lines_added + event.lines_added, self.lines_removed + event.lines_removed
            return replace(self, lines_added=added, lines_removed=removed)
        return self

    def _notices_except(self, id_: str) -> tuple[BackgroundEnded | AgentEnded, ...]:
        return tuple(notice for notice in self.notices if notice.notice != id_) if self.notices else ()

    def _with_notice(self, ended: BackgroundEnded | AgentEnded) -> tuple[BackgroundEnded | AgentEnded, ...]:
        return self.notices if ended.tell == "no" else (*self._notices_except(ended.notice), ended)

    def _apply_background(self, event: BackgroundStarted | BackgroundEnded) -> "State":
        if isinstance(event, BackgroundStarted):
            return replace(self, background={**self.background, event.id: event})
        ended = event
        background = {id_: each for id_, each in self.background.items() if id_ != ended.id}
        return replace(self, background=background, notices=self._with_notice(ended))

    def _unclosed(self) -> list[Message]:
        messages: list[Message] = []
        if self.answer:
            messages.append(Message("assistant", self.answer, self.answer_id))
        if self.user_blocks:
            messages.append(Message("user", _sort_replies(self.answer, self.user_blocks)))
        return messages

    def _begin(self, started: TurnStarted) -> "State":
        fresh = replace(self, steps=0, child_steps=0, usage=Usage(), ended=None)
        model = started.model
        return replace(fresh, turn=started.turn, model=model, chosen=model, mode=started.mode, running=True)

    def _close(self, message_id: str) -> "State":
        closed = self.closed
        for message in self._unclosed():
            closed = closed.append(message)
        return replace(
            self,
            closed=closed,
            answer_id=message_id,
            answer=(),
            ended=None,
            user_blocks=(),
            started=frozenset(),
            abandoned=self.never_started,
        )

    def _apply_interaction(self, event: InteractionOpened | InteractionClosed) -> "State":
        if isinstance(event, InteractionOpened):
            return replace(self, interactions=(*self.interactions, event))
        closed = event
        opened = next((entry for entry in self.interactions if entry.id == closed.id), None)
        if opened is None:
            return self
        granted = self.granted
        if closed.outcome == "allowed":
            shown = closed if closed.input is not None else replace(closed, input=opened.call.input)
            granted = {**granted, opened.call.id: shown}
        return replace(
            self, interactions=tuple(entry for entry in self.interactions if entry is not opened), granted=granted
        )

    def _count(self, done: MessageDone) -> "State":
        counted = self._count_request(done)
        if done.broken == "lost":  # it is paid for, but it is no step of the conversation
            return counted
        return replace(counted, ended=done, steps=self.steps + 1, context=done.usage.context)

    def _count_request(self, made: Advised | MessageDone | ModelSpend) -> "State":
        """Count the cost of a request, be it a step of the conversation or not."""
        before = self.by_model.get(made.model, ModelUsage())
        totals = ModelUsage(before.usage + made.usage, before.cost + made.cost, before.calls + 1)
        return replace(
            self,
            usage=self.usage + made.usage,
            cost=self.cost + made.cost,
            api_ms=self.api_ms + made.api_ms,
            by_model={**self.by_model, made.model: totals},
        )

    def _prune(self, event: Pruned) -> "State":
        pruned = frozenset(event.call_ids)
        closed = AppendOnlyChain(_prune_message(message, pruned, images=event.images) for message in self.closed)
        user_blocks = _prune_message(Message("user", self.user_blocks), pruned, images=event.images).blocks
        return replace(self, closed=closed, user_blocks=user_blocks)


def _update_queue(queued: tuple[InputQueued, ...], event: InputQueued | InputDropped) -> tuple[InputQueued, ...]:
    """Return the queue after an event. A message queued again under its id replaces the earlier one: it was edited."""
    if isinstance(event, InputDropped):
        return tuple(entry for entry in queued if entry.id != event.id)
    if all(entry.id != event.id for entry in queued):
        return (*queued, event)
    return tuple(event if entry.id == event.id else entry for entry in queued)


def _sort_replies(answer: tuple[Block, ...], user_blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the replies in the order of their calls, then all other blocks."""
    replies = [block for block in user_blocks if isinstance(block, ToolReply)]
    if not replies:
        return user_blocks
    positions = {block.id: index for index, block in enumerate(answer) if isinstance(block, ToolCall)}
    replies.sort(key=lambda reply: positions.get(reply.call_id, len(positions)))
    return (*replies, *(block for block in user_blocks if not isinstance(block, ToolReply)))


def _prune_message(message: Message, pruned: frozenset[str], *, images: bool) -> Message:
    changed = tuple(_prune_block(block, pruned, images=images) for block in message.blocks)
    same = all(new is old for new, old in zip(changed, message.blocks, strict=True))
    return message if same else replace(message, blocks=changed)


def _prune_block(block: Block, pruned: frozenset[str], *, images: bool) -> Block:
    if isinstance(block, ToolReply) and block.call_id in pruned:
        return replace(block, content=(Text(PRUNED),))
    if images and isinstance(block, Image):
        return Text(IMAGE_REMOVED)
    if images and isinstance(block, ToolReply) and any(isinstance(part, Image) for part in block.content):
        parts = tuple(Text(IMAGE_REMOVED) if isinstance(part, Image) else part for part in block.content)
        return replace(block, content=parts)
    return block
