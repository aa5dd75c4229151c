"""One set of settings out of many: scalars by strength, lists and hooks added up, restrictions kept from all."""

from collections.abc import Collection, Sequence
from typing import Any

from bobstay.config.settings import AutoMode, Permissions, SandboxNetwork, SandboxSettings, Settings

SCALARS = (
    "model",
    "api_key_helper",
    "max_turns",
    "max_budget_usd",
    "max_concurrent_tools",
    "search",
    "timeouts",
    "bash",
    "effort",
    "language",
    "append_system_prompt",
    "compact_threshold",
    "cleanup_period_days",
)
MAPPINGS = ("env", "models", "mcp_servers", "extra")


def merge(layers: Sequence[Settings]) -> Settings:
    """Merge settings given strongest first. Trusted folders are no part of it: they are not inherited."""
    values: dict[str, Any] = {name: _first(layers, name) for name in SCALARS}
    for name in MAPPINGS:
        values[name] = _deep([getattr(layer, name) for layer in layers])
    # A definition counts as a whole: half of one and half of another would send keys to the wrong server.
    values["providers"] = {name: each for layer in reversed(layers) for name, each in layer.providers.items()}
    fallback = next((layer.fallbacks for layer in layers if layer.fallbacks), None)
    return Settings(
        permissions=merge_permissions([layer.permissions for layer in layers]),
        hooks=_concatenated([layer.hooks for layer in layers]),
        disable_all_hooks=_any(layers, "disable_all_hooks"),
        fallback_models=fallback,
        pass_variables=_added(layers, "pass_variables"),
        sandbox=merge_sandbox([layer.sandbox for layer in layers]),
        auto_mode=_merged_auto_mode([layer.auto_mode for layer in layers]),
        **values,
    )


def hooks_disabled(source: str, by: Collection[str]) -> bool:
    """Whether the hooks of a source are off where the sources `by` say `disableAllHooks`.

    Those of the managed settings are turned off by the managed settings only.
    """
    return "managed" in by or (bool(by) and source != "managed")


def merge_permissions(layers: Sequence[Permissions]) -> Permissions:
    return Permissions(
        allow=_added(layers, "allow"),
        ask=_added(layers, "ask"),
        deny=_added(layers, "deny"),
        default_mode=_first(layers, "default_mode"),
        additional_directories=_added(layers, "additional_directories"),
        disable_bypass_permissions_mode=_first(layers, "disable_bypass_permissions_mode"),
    )


def merge_sandbox(layers: Sequence[SandboxSettings]) -> SandboxSettings:
    """Whoever turns the sandbox on, turns it on: no other source can take that back, a folder's own least of all."""
    networks = [layer.network for layer in layers]
    return SandboxSettings(
        enabled=_any(layers, "enabled"),
        auto_allow=_first(layers, "auto_allow"),
        fail_if_unavailable=_any(layers, "fail_if_unavailable"),
        allow_unverified=_first(layers, "allow_unverified"),
        network=SandboxNetwork(_added(networks, "allowed_domains"), _first(networks, "unix_sockets")),
        writable=_added(layers, "writable"),
        hidden=_added(layers, "hidden"),
        variables=_added(layers, "variables"),
    )


def _merged_auto_mode(layers: Sequence[AutoMode]) -> AutoMode:
    return AutoMode(
        _first(layers, "model"), _added(layers, "allow"), _added(layers, "soft_deny"), _added(layers, "environment")
    )


def _first(layers: Sequence[Any], name: str) -> Any:
    return next((value for layer in layers if (value := getattr(layer, name)) is not None), None)


def _any(layers: Sequence[Any], name: str) -> bool | None:
    """True if one layer says so; else what the strongest that says anything does."""
    said = [getattr(layer, name) for layer in layers]
    return True if True in said else _first(layers, name)


def _added(layers: Sequence[Any], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for layer in layers for value in getattr(layer, name)))


def _deep(mappings: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Later mappings fill what stronger ones leave open, at every depth."""
    merged: dict[str, Any] = {}
    for mapping in mappings:
        for name, value in mapping.items():
            if name not in merged:
                merged[name] = value
            elif isinstance(merged[name], dict) and isinstance(value, dict):
                merged[name] = _deep([merged[name], value])
    return merged


def _concatenated(mappings: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Hooks of all sources run: the lists of each event are joined."""
    merged: dict[str, Any] = {}
    for mapping in mappings:
        for event, matchers in mapping.items():
            present = merged.get(event)
            if isinstance(present, list) and isinstance(matchers, list):
                merged[event] = [*present, *matchers]
            elif present is None:
                merged[event] = matchers
    return merged
