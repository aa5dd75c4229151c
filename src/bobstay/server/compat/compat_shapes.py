"""Sessions and token counts in the shape of the first console: camelCase, ISO 8601 times, no empty fields."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from bobstay.model.ids import timestamp
from bobstay.model.message import Usage
from bobstay.server.sessions.session_status import ENDED, Status
from bobstay.server.sessions.session_view import SessionView

WorkflowMode = Literal["chat", "research", "plan", "review_plan", "implement"]


class TokenUsage(Struct, frozen=True, rename="camel"):
    """Token usage of the last answer; together it is what fills the context."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    effective_context_tokens: int = 0

    @classmethod
    def of(cls, usage: Usage) -> "TokenUsage":
        return cls(usage.input, usage.output, usage.cache_read, usage.cache_write, usage.context)


class CompatConfig(Struct, frozen=True, rename="camel"):
    query: str
    workflow_mode: WorkflowMode
    working_dir: str
    max_turns: int
    output_format: str
    model: str | UnsetType = UNSET
    system_prompt: str | UnsetType = UNSET
    allowed_tools: tuple[str, ...] | UnsetType = UNSET
    disallowed_tools: tuple[str, ...] | UnsetType = UNSET


class CompatSession(Struct, frozen=True, rename="camel"):
    id: str
    status: Status
    config: CompatConfig
    token_usage: TokenUsage
    context_limit: int
    start_time: str
    num_turns: int
    title: str
    error_message: str | UnsetType = UNSET
    completed_at: str | UnsetType = UNSET
    cost_usd: float | UnsetType = UNSET
    parent_session_id: str | UnsetType = UNSET


def session_of(view: SessionView, query: str = "") -> CompatSession:
    """A session in the shape of the first console. `query` is the full prompt, if it is known."""
    config = view.config
    return CompatSession(
        id=view.id,
        status=view.status,
        config=CompatConfig(
            query=query or view.last_prompt or view.first_prompt,
            workflow_mode=config.workflow,
            working_dir=view.cwd,
            max_turns=config.max_turns,
            output_format=config.output_format,
            model=view.model or UNSET,
            system_prompt=config.system_prompt or UNSET,
            allowed_tools=config.allowed_tools or UNSET,
            disallowed_tools=config.disallowed_tools or UNSET,
        ),
        token_usage=TokenUsage.of(view.last_usage),
        context_limit=view.context_limit,
        start_time=timestamp(view.created_at),
        num_turns=view.steps,
        title=view.title,
        error_message=view.error or UNSET,
        completed_at=timestamp(view.ended_at) if view.status in ENDED and view.ended_at else UNSET,
        cost_usd=view.cost or UNSET,
        parent_session_id=view.parent or UNSET,
    )
