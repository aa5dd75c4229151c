"""Which code is mutated, and which tests are asked about it."""

from typing import NamedTuple


class Area(NamedTuple):
    """Files that are judged by the same suites."""

    name: str
    sources: tuple[str, ...]
    """Patterns of files, relative to the project."""
    tests: tuple[str, ...]
    """Folders and files whose tests are run once, to see which lines each of them reaches."""


_SERVER = "src/bobstay/server"
_STREAMS = ("hub", "subscription", "log_history", "recent_events", "session_changes", "text_cutting")

AREAS = (
    Area(
        "engine",
        ("src/bobstay/engine/*.py",),
        ("tests/unit/engine", "tests/unit/assembly", "tests/flow", "tests/fault/test_truncation.py"),
    ),
    Area(
        "permissions",
        tuple(
            f"src/bobstay/permissions/{name}.py"
            for name in ("policy", "rule", "rulebook", "judgement", "mode", "path_resolution")
        ),
        ("tests/unit/permissions", "tests/unit/cli/test_permissions_command.py", "tests/flow"),
    ),
    Area(
        "server",
        (
            *(
                f"{_SERVER}/{name}.py"
                for name in (
                    "session_creation",
                    "session_commands",
                    "runner",
                    "inbox",
                    "crash_recovery",
                    "capacity",
                    "preflight",
                )
            ),
            *(f"{_SERVER}/{name}.py" for name in ("deletion", "worktrees", "workflows", "session_secrets")),
            f"{_SERVER}/sessions/*.py",
            *(f"{_SERVER}/streams/{name}.py" for name in _STREAMS),
            *(f"{_SERVER}/auth/{name}.py" for name in ("authorization", "auth_middleware", "client_store")),
        ),
        tuple(
            f"tests/server/{name}"
            for name in ("native", "api", "streams", "auth", "git", "process", "files", "db", "compat", "terminal")
        ),
    ),
)

UNSEEN: dict[str, tuple[str, ...]] = {
    "src/bobstay/engine/": ("tests/wire/test_print_mode.py", "tests/wire/test_flows.py"),
    "src/bobstay/permissions/": ("tests/unit/cli/test_permissions_command.py",),
    "src/bobstay/server/": ("tests/server/flow/test_served.py",),
}
"""Code that only other processes run is reached by no test that can be seen: these are run for it instead."""
