"""Merges settings of several sources: scalars by precedence, lists and hooks joined, restrictions kept from all."""

from collections.abc import Collection, Sequence
from typing import Any

from bobstay.config.settings import AutoMode, Permissions, SandboxNetwork, SandboxSettings, Settings

SCALARS = (
    "model",
    "api_key_helper",
    "max_turns",
    "max_budget_usd",
    "max_concurrent_tools",
    "task_tools",
    "search",
    "timeouts",
    "bash",
    "worktree",
    "lsp",
    "effort",
    "language",
    "append_system_prompt",
    "agent",
    "coordinator",
    "output_style",
    "disable_skill_shell_execution",
    "compact_threshold",
    "cleanup_period_days",
    "enable_all_project_mcp_servers",
)
MAPPINGS = ("env", "models", "extra")


def merge(layers: Sequence[Settings]) -> Settings:
    """Merge settings given in order of precedence. `trusted_folders` is left out: it is not inherited."""
    values: dict[str, Any] = {name: _first(layers, name) for name in SCALARS}
    for name in MAPPINGS:
        values[name] = _merge_mappings([getattr(layer, name) for layer in layers])
    # A definition is taken as a whole: half of one and half of another would send keys to the wrong server.
    for name in ("providers", "mcp_servers"):
        values[name] = {key: each for layer in reversed(layers) for key, each in getattr(layer, name).items()}
    fallback = next((layer.fallbacks for layer in layers if layer.fallbacks), None)
    return Settings(
        permissions=merge_permissions([layer.permissions for layer in layers]),
        hooks=_merge_hooks([layer.hooks for layer in layers]),
        disable_all_hooks=_any_true(layers, "disable_all_hooks"),
        fallback_models=fallback,
        pass_variables=_union(layers, "pass_variables"),
        claude_md_excludes=_union(layers, "claude_md_excludes"),
        enabled_mcpjson_servers=_union(layers, "enabled_mcpjson_servers"),
        disabled_mcpjson_servers=_union(layers, "disabled_mcpjson_servers"),
        sandbox=merge_sandbox([layer.sandbox for layer in layers]),
        auto_mode=_merge_auto_mode([layer.auto_mode for layer in layers]),
        **values,
    )


def are_hooks_disabled(source: str, by: Collection[str]) -> bool:
    """Whether the hooks of a source are off, given the sources `by` that set `disableAllHooks`.

    Only the managed settings can turn off the hooks of the managed settings.
    """
    return "managed" in by or (bool(by) and source != "managed")


def merge_permissions(layers: Sequence[Permissions]) -> Permissions:
    return Permissions(
        allow=_union(layers, "allow"),
        ask=_union(layers, "ask"),
        deny=_union(layers, "deny"),
        default_mode=_first(layers, "default_mode"),
        additional_directories=_union(layers, "additional_directories"),
        disable_bypass_permissions_mode=_first(layers, "disable_bypass_permissions_mode"),
    )


def merge_sandbox(layers: Sequence[SandboxSettings]) -> SandboxSettings:
    """Merge sandbox settings. A sandbox that one source turns on cannot be turned off by another."""
    networks = [layer.network for layer in layers]
    return SandboxSettings(
        enabled=_any_true(layers, "enabled"),
        auto_allow=_first(layers, "auto_allow"),
        fail_if_unavailable=_any_true(layers, "fail_if_unavailable"),
        allow_unverified=_first(layers, "allow_unverified"),
        network=SandboxNetwork(_union(networks, "allowed_domains"), _first(networks, "unix_sockets")),
        writable=_union(layers, "writable"),
        hidden=_union(layers, "hidden"),
        variables=_union(layers, "variables"),
    )


def _merge_auto_mode(layers: Sequence[AutoMode]) -> AutoMode:
    return AutoMode(
        _first(layers, "model"), _union(layers, "allow"), _union(layers, "soft_deny"), _union(layers, "environment")
    )


def _first(layers: Sequence[Any], name: str) -> Any:
    return next((value for layer in layers if (value := getattr(layer, name)) is not None), None)


def _any_true(layers: Sequence[Any], name: str) -> bool | None:
    """Return True if one layer says so, else the first value that is set."""
    values = [getattr(layer, name) for layer in layers]
    return True if True in values else _first(layers, name)


def _union(layers: Sequence[Any], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for layer in layers for value in getattr(layer, name)))


def _merge_mappings(mappings: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge mappings at every depth; earlier ones take precedence."""
    merged: dict[str, Any] = {}
    for mapping in mappings:
        for name, value in mapping.items():
            if name not in merged:
                merged[name] = value
            elif isinstance(merged[name], dict) and isinstance(value, dict):
                merged[name] = _merge_mappings([merged[name], value])
    return merged


def _merge_hooks(mappings: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Join the hook lists of each event, since the hooks of all sources run."""
    merged: dict[str, Any] = {}
    for mapping in mappings:
        for event, matchers in mapping.items():
            present = merged.get(event)
            if isinstance(present, list) and isinstance(matchers, list):
                merged[event] = [*present, *matchers]
            elif present is None:
                merged[event] = matchers
    return merged
