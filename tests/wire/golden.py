"""Golden flows of the wire protocol: kinds of frames in order, and the keys hosts rely on.

`test_flows.py` holds our program to it, and `test_oracle.py` the protocol's first implementation.
"""

KEYS: dict[str, set[str]] = {
    "init": {
        *("type", "subtype", "cwd", "session_id", "tools", "mcp_servers", "model", "permissionMode", "slash_commands"),
        *("apiKeySource", "claude_code_version", "output_style", "agents", "skills", "plugins", "capabilities", "uuid"),
    },
    "running": {"type", "subtype", "state", "sdk_host_only", "uuid", "session_id"},
    "idle": {"type", "subtype", "state", "sdk_host_only", "uuid", "session_id"},
    "assistant:text": {"type", "message", "parent_tool_use_id", "session_id", "uuid", "timestamp"},
    "assistant:tool_use": {"type", "message", "parent_tool_use_id", "session_id", "uuid", "timestamp"},
    "user:tool_result": {
        *("type", "message", "parent_tool_use_id", "session_id", "uuid", "timestamp"),
        *("tool_use_result", "tool_result_meta"),
    },
    "user:text": {"type", "message", "parent_tool_use_id", "session_id", "uuid", "timestamp"},
    "synthetic:text": {"type", "message", "parent_tool_use_id", "session_id", "uuid", "isSynthetic"},
    "replay": {"type", "message", "parent_tool_use_id", "session_id", "uuid", "isReplay"},
    "result": {
        *("type", "subtype", "is_error", "duration_ms", "duration_api_ms", "num_turns", "stop_reason", "session_id"),
        *("total_cost_usd", "usage", "modelUsage", "permission_denials", "uuid", "result_index"),
    },
    "message_start": {"type", "event", "session_id", "parent_tool_use_id", "uuid", "api_message_id"},
    "content_block_delta": {"type", "event", "session_id", "parent_tool_use_id", "uuid", "api_message_id"},
    "status": {"type", "subtype", "status", "session_id", "uuid"},
    "api_retry": {
        *("type", "subtype", "attempt", "max_retries", "retry_delay_ms", "error_status", "error"),
        *("session_id", "uuid"),
    },
    "permission_denied": {"type", "subtype", "tool_name", "tool_use_id", "message", "session_id", "uuid"},
    "can_use_tool": {"type", "request_id", "request"},
    "hook_callback": {"type", "request_id", "request"},
    "control_cancel_request": {"type", "request_id"},
}

MESSAGE_KEYS = {"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"}
USAGE_KEYS = {"input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"}
MODEL_USAGE_KEYS = {
    *("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "webSearchRequests"),
    *("costUSD", "contextWindow", "maxOutputTokens"),
}
QUESTION_KEYS = {"subtype", "tool_name", "display_name", "input", "tool_use_id", "permission_suggestions"}
HOOK_KEYS = {
    *("session_id", "transcript_path", "cwd", "permission_mode", "hook_event_name"),
    *("tool_name", "tool_input", "tool_use_id"),
}

IGNORED = {
    *("answer:success", "notification", "thinking_tokens", "background_tasks_changed"),
    *("task_started", "task_notification", "task_updated", "rate_limit_event"),
}
"""Frames that are optional for hosts or unrelated to the flow."""

FLOWS: dict[str, list[str]] = {
    "plain": ["running", "init", "assistant:text", "result", "idle"],
    "tool": [
        *("running", "init", "assistant:text", "assistant:tool_use", "user:tool_result"),
        *("assistant:text", "result", "idle"),
    ],
    "allowed": [
        *("running", "init", "assistant:tool_use", "requires_action", "can_use_tool", "running"),
        *("user:tool_result", "assistant:text", "result", "idle"),
    ],
    "denied": [
        *("running", "init", "assistant:tool_use", "requires_action", "can_use_tool", "running"),
        *("user:tool_result", "assistant:text", "result", "idle"),
    ],
    "denied_and_stopped": [
        *("running", "init", "assistant:tool_use", "requires_action", "can_use_tool", "running"),
        *("user:tool_result", "user:text", "result", "idle"),
    ],
    "nobody_to_ask": [
        *("running", "init", "assistant:tool_use", "permission_denied", "user:tool_result"),
        *("assistant:text", "result", "idle"),
    ],
    "interrupted_tool": [
        *("running", "init", "assistant:tool_use", "user:tool_result", "user:text", "result", "idle"),
    ],
    "interrupted_question": [
        *("running", "init", "assistant:tool_use", "requires_action", "can_use_tool", "control_cancel_request"),
        *("running", "user:tool_result", "user:text", "result", "idle"),
    ],
    "partial": [
        *("running", "init", "status", "message_start", "content_block_start", "content_block_delta"),
        *("content_block_delta", "assistant:text", "content_block_stop", "message_delta", "message_stop"),
        *("result", "idle"),
    ],
    "replayed": [
        *("running", "lifecycle:queued", "lifecycle:started", "init", "replay", "assistant:text", "result"),
        *("lifecycle:completed", "idle"),
    ],
    "hook_denies": [
        *("running", "init", "assistant:tool_use", "hook_callback", "user:tool_result"),
        *("assistant:text", "result", "idle"),
    ],
    "prompt_hook": ["running", "hook_callback", "init", "assistant:text", "result", "idle"],
    "stop_hook": [
        *("running", "init", "assistant:text", "hook_callback", "synthetic:text", "assistant:text"),
        *("hook_callback", "result", "idle"),
    ],
    "output_limit": ["running", "init", "assistant:text", "synthetic:text", "assistant:text", "result", "idle"],
    "retried": ["running", "init", "api_retry", "assistant:text", "result", "idle"],
    "api_error": ["running", "init", "assistant:text", "result", "idle"],
    "background": [
        *("running", "init", "assistant:tool_use", "user:tool_result", "assistant:text", "result", "idle"),
        *("running", "init", "assistant:text", "result", "idle"),
    ],
    "max_turns": ["running", "init", "assistant:tool_use", "user:tool_result", "result", "idle"],
}
