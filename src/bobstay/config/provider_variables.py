"""The environment variables of each built-in provider's keys and address."""

KEYS: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "openai": ("OPENAI_API_KEY",),
    "openai-chat": ("OPENAI_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "openrouter": ("OPENROUTER_API_KEY",),
    "ollama": ("OLLAMA_API_KEY",),
    "vllm": ("VLLM_API_KEY",),
    "lmstudio": ("LMSTUDIO_API_KEY",),
    "llamacpp": ("LLAMACPP_API_KEY",),
    "bedrock": ("AWS_BEARER_TOKEN_BEDROCK",),
    "vertex": (),
    "demo": (),
}
"""By provider name; a stored key takes the place of the first variable."""

ADDRESSES: dict[str, str] = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "openai-chat": "OPENAI_BASE_URL",
    "gemini": "GOOGLE_GEMINI_BASE_URL",
    "openrouter": "OPENROUTER_BASE_URL",
    "ollama": "OLLAMA_HOST",
    "vllm": "VLLM_BASE_URL",
    "lmstudio": "LMSTUDIO_BASE_URL",
    "llamacpp": "LLAMACPP_BASE_URL",
    "bedrock": "ANTHROPIC_BEDROCK_BASE_URL",
    "vertex": "ANTHROPIC_VERTEX_BASE_URL",
}

CLOUD_SWITCHES = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")
CLOUD_CHOICES = (
    *(*CLOUD_SWITCHES, "AWS_REGION", "AWS_DEFAULT_REGION"),
    *("CLOUD_ML_REGION", "GOOGLE_CLOUD_LOCATION", "ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT"),
    *("ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL"),
    "ANTHROPIC_DEFAULT_FABLE_MODEL",
)
"""Which cloud offers the models, where in it, and under which names."""
CLOUD_CREDENTIALS = (
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"),
    *("CLAUDE_CODE_SKIP_BEDROCK_AUTH", "CLAUDE_CODE_SKIP_VERTEX_AUTH"),
)
"""Who one is there. What else the vendors' libraries read, they read themselves."""
CLOUD_VARIABLES = (*CLOUD_CHOICES, *CLOUD_CREDENTIALS)

HEADERS = "ANTHROPIC_CUSTOM_HEADERS"
"""Headers for Anthropic or a gateway in its place; they often contain a key."""


def keys_sent_to(address: str) -> tuple[str, ...]:
    """Return the variables whose values are sent to the server that the variable `address` names."""
    found = [KEYS[provider] for provider, variable in ADDRESSES.items() if variable == address]
    return tuple(dict.fromkeys(name for names in found for name in names))
