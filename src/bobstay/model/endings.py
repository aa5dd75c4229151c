"""How a turn may end."""

from typing import Literal, TypeAlias

Stopped: TypeAlias = Literal[
    "interrupted_streaming",
    "interrupted_tools",
    "hook_stopped",
    "stop_hook_prevented",
    "prompt_blocked",
    "deferred",
]
Limit: TypeAlias = Literal["max_turns", "max_cost", "max_tokens", "max_time", "max_output", "max_structured_retries"]
Fault: TypeAlias = Literal["api_error", "prompt_too_long", "refused", "repeating", "auto_denied", "failed"]
Ending: TypeAlias = Literal["completed", Stopped, Limit, Fault]
