"""Refuses code that nothing in src, scripts or benchmarks uses: what only tests reach goes together with its tests."""

import ast
import sys
from functools import cache
from pathlib import Path
from typing import Any

from vulture import Vulture

FOLDERS = ("src", "scripts", "benchmarks")
SKIPPED = ["*/node_modules/*"]
MIGRATIONS = "src/bobstay/server/db/migrations/"
CALLED_BY_NAME = ["__*__", "visit_*", "pytest_*"]
DISCOVERED = "src/bobstay/tools/builtin/"
ALLOWED = {
    "NoIndex": "the index of a server without a database, for tests of everything above it",
    "wait_idle": "how tests wait until all notifications are sent",
    "get_tokens": "the MCP SDK calls it",
    "get_client_info": "the MCP SDK calls it",
    "set_tokens": "the MCP SDK calls it",
    "set_client_info": "the MCP SDK calls it",
    "auth_server_url": "an attribute that the MCP SDK reads",
    "on_header": "httptools calls it",
    "isolation_level": "an attribute of sqlite3's connection",
    "close_timer": "an attribute of the base class in websockets",
    "MAX_IMAGE_PIXELS": "an attribute of Pillow's module",
    "maxlevel": "an attribute of reprlib.Repr",
    "maxlong": "an attribute of reprlib.Repr",
    "maxother": "an attribute of reprlib.Repr",
    "maxstring": "an attribute of reprlib.Repr",
    "Node": "only in annotations that are strings",
    "PillowImage": "only in annotations that are strings",
    "should_exit": "an attribute of uvicorn's server",
    "PageHook": "hatchling finds it",
    "PLUGIN_NAME": "hatchling reads it",
    "initialize": "hatchling calls it",
    "build_data": "an argument hatchling passes",
}
"""Names that are used in ways the search cannot see, each with the way."""


def main(root: Path = Path(), allowed: dict[str, str] = ALLOWED) -> int:
    search = Vulture(ignore_names=CALLED_BY_NAME)
    search.scavenge([root / folder for folder in FOLDERS if (root / folder).exists()], exclude=SKIPPED)
    unused = [item for item in search.get_unused_code() if not _is_outside_use(root, item)]
    found = [
        f"{item.filename}:{item.first_lineno}: {item.typ} {item.name} is not used"
        for item in unused
        if item.name not in allowed
    ]
    found += [
        f"{name} is used or gone: remove it from ALLOWED" for name in allowed.keys() - {item.name for item in unused}
    ]
    for problem in found:
        print(problem)
    print(f"dead code check: {len(found)} problems")
    return 1 if found else 0


def _is_outside_use(root: Path, item: Any) -> bool:
    """Fields make up the shape of data that others read; tools and migrations are found in their folders."""
    if item.filename.is_relative_to((root / MIGRATIONS).absolute()):
        return True
    if item.typ == "class":
        return bool(item.filename.is_relative_to((root / DISCOVERED).absolute()))
    return bool(item.typ == "variable" and item.first_lineno in _fields(item.filename))


@cache
def _fields(path: Path) -> set[int]:
    """The lines of `path` on which a class declares a field."""
    classes = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.ClassDef)]
    return {line.lineno for each in classes for line in each.body if isinstance(line, ast.AnnAssign)}


if __name__ == "__main__":
    sys.exit(main())
