"""Builds the environment of an external engine: without secrets, except for the keys it needs."""

import os
from collections.abc import Mapping, Sequence

from bobstay.config.environment import Environment
from bobstay.server.sessions.orphan_sweep import MARKER
from bobstay.system.process_tree import MARK

NESTED = frozenset({"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_AGENT_SDK_VERSION"})
"""Variables that a host sets for its engine; if this server runs inside one, they are not meant for its engines."""
OWN_KEYS: dict[str, tuple[str, ...]] = {"claude": ("ANTHROPIC_",)}
"""Commands that need the keys of certain providers only."""


def engine_environment(
    environment: Environment,
    command: Sequence[str],
    session_id: str,
    mark: str,
    overrides: Mapping[str, str],
    *,
    pass_keys: bool,
) -> dict[str, str]:
    """The environment of a process. Without `pass_keys` an engine uses its own login."""
    found = {name: value for name, value in environment.children.items() if name not in NESTED}
    if pass_keys:
        beginnings = OWN_KEYS.get(os.path.basename(command[0]), ("",))
        found |= {name: value for name, value in environment.keys.items() if name.startswith(beginnings)}
        if environment.headers:
            lines = (f"{name}: {value}" for name, value in environment.headers.items())
            found["ANTHROPIC_CUSTOM_HEADERS"] = "\n".join(lines)
    found |= overrides
    inherited = environment.children.get(MARK, "")
    found[MARK] = f"{inherited}/{mark}" if inherited else mark
    found[MARKER] = session_id
    return found
