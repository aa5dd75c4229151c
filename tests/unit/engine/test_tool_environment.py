"""The environment of tools follows the log: directories, files seen, the shell's working directory."""

from pathlib import Path
from typing import Any

import pytest

from bobstay.engine.tool_environment import ToolEnvironment, shows_everything
from bobstay.model.event import PermissionsChanged, ToolDone
from bobstay.model.message import Text, ToolReply
from bobstay.tools.base import ToolServices

ROOT, OTHER = Path("/srv/proj"), Path("/srv/other")


def tool_environment() -> ToolEnvironment:
    return ToolEnvironment(
        session_id="s",
        root=ROOT,
        directories=(ROOT,),
        spill=Path("/spill"),
        environment={},
        services=ToolServices(),
    )


def changed(kind: str, *paths: Path) -> PermissionsChanged:
    return PermissionsChanged(({"type": kind, "directories": [str(path) for path in paths]},))


def test_directories_come_once_and_go_but_the_root_stays() -> None:
    here = tool_environment()
    here.apply(changed("addDirectories", OTHER, ROOT))
    assert list(here.directories) == [ROOT, OTHER]
    here.apply(changed("addDirectories", OTHER))
    assert list(here.directories) == [ROOT, OTHER]
    here.apply(changed("removeDirectories", OTHER, ROOT))
    assert list(here.directories) == [ROOT]
    here.apply(changed("addRules", OTHER))
    assert list(here.directories) == [ROOT]


def test_a_call_tells_which_files_are_known_and_where_the_shell_stands() -> None:
    here = tool_environment()
    here.apply(ToolDone(ToolReply("1", (Text(""),)), files={"/srv/proj/a": "hash"}, cwd=str(OTHER)))
    here.apply(ToolDone(ToolReply("2", (Text(""),))))
    assert (here.known("/srv/proj/a"), here.known("/srv/proj/b"), here.cwd) == ("hash", None, OTHER)


@pytest.mark.parametrize(
    ("file", "everything"),
    [
        ({"startLine": 1, "numLines": 9, "totalLines": 9}, True),
        ({"startLine": 2, "numLines": 9, "totalLines": 9}, False),
        ({"startLine": 1, "numLines": 8, "totalLines": 9}, False),
        ({"firstPage": 1, "lastPage": 3, "totalPages": 3}, True),
        ({"firstPage": 2, "lastPage": 3, "totalPages": 3}, False),
        ({"firstPage": 1, "lastPage": 2, "totalPages": 3}, False),
        ({"base64": "AA=="}, True),
        (None, False),
    ],
)
def test_a_reply_shows_everything_only_from_the_first_to_the_last_line_or_page(file: Any, everything: bool) -> None:
    assert shows_everything({"file": file}) is everything


def test_a_call_may_move_the_session_to_a_worktree_and_back() -> None:
    """H7-6"""
    here, tree = tool_environment(), Path("/srv/proj.worktrees/a")
    here.apply(changed("addDirectories", OTHER))
    here.apply(ToolDone(ToolReply("c", (Text("entered"),)), root=str(tree)))
    assert (here.root, here.cwd, here.directories) == (tree, tree, (tree, OTHER))
    assert here.context("c", "default", lambda _: None).origin == ROOT
    here.apply(ToolDone(ToolReply("d", (Text("left"),)), root=str(ROOT)))
    assert (here.root, here.cwd, here.directories) == (ROOT, ROOT, (ROOT, OTHER))
    assert here.context("c", "default", lambda _: None).origin is None
