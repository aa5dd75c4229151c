"""The diff watcher publishes changes to subscribers, and ends without them."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bobstay.model.event import Durable
from bobstay.model.session_events import WorkerExited, WorkerStarted
from bobstay.server.streams.hub import EVERYTHING, HubClient
from bobstay.server.workers import diff_watcher
from bobstay.server.workers.diff_watcher import GitDiffWorker
from bobstay.server.workers.worker import WorkerError
from tests.kit.repositories import git, repository
from tests.kit.waiting import DEADLINE
from tests.server.files.files_host import FilesHost


class Window:
    """Somebody who follows a session."""

    def __init__(self, host: FilesHost) -> None:
        self.host = host
        self.log: list[Durable] = []
        self.client = HubClient("ada")
        self.worker = GitDiffWorker(
            "diff-1",
            1,
            "session-1",
            self.log.append,
            host.hub,
            cwd=str(host.work),
            bounds=host.roots.allowed(),
            environment=host.environment.children,
        )

    def follow(self) -> None:
        self.host.hub.subscribe("session:session-1", self.client)

    async def until(self, wanted: dict[str, str]) -> dict[str, Any]:
        """Wait for a frame that tells of these files and no others."""
        async with asyncio.timeout(DEADLINE):
            while True:
                for frame in await self.client.next_batch():
                    reported: dict[str, Any] = json.loads(frame)
                    if {file["path"]: file["status"] for file in reported["data"]["files"]} == wanted:
                        return reported


@pytest.fixture
async def window(host: FilesHost) -> AsyncIterator[Window]:
    repository(host.work, **{".gitignore": "build/\n*.log\n", "file": "one\n"})
    made = Window(host)
    yield made
    await made.worker.stop()


async def test_changes_are_told_to_those_who_follow(window: Window, host: FilesHost) -> None:
    """S004-2: git-diff worker; `diff.changed` with path, status and numbers, not stored."""
    window.follow()
    await window.worker.start()
    (host.work / "file").write_text("one\ntwo\n")
    reported = await window.until({"file": "modified"})
    (host.work / "deep" / "down").mkdir(parents=True)
    (host.work / "deep" / "down" / "new").write_text("x\n")
    await window.until({"file": "modified", "deep/down/new": "untracked"})
    (host.work / "deep" / "down" / "second").write_text("x\n")
    await window.until({"file": "modified", "deep/down/new": "untracked", "deep/down/second": "untracked"})

    assert (reported["type"], reported["topic"], reported["session_id"]) == (
        "diff.changed",
        "session:session-1",
        "session-1",
    )
    assert reported["data"]["files"] == [{"path": "file", "status": "modified", "added": 1, "removed": 0}]
    assert "seq" not in reported
    assert window.log == [WorkerStarted("diff-1", "git_diff", 1)]


async def test_a_commit_made_elsewhere_is_noticed(window: Window, host: FilesHost) -> None:
    window.follow()
    await window.worker.start()
    (host.work / "file").write_text("two\n")
    await window.until({"file": "modified"})
    git(host.work, "commit", "--all", "--quiet", "-m", "second")

    await window.until({})


async def test_where_nothing_can_be_watched_git_is_asked_now_and_then(
    window: Window, host: FilesHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diff_watcher, "MOST_FOLDERS", 0)
    monkeypatch.setattr(diff_watcher, "POLL_SECONDS", 0.05)
    window.follow()
    await window.worker.start()
    (host.work / "file").write_text("two\n")

    await window.until({"file": "modified"})


async def test_it_ends_when_told_and_says_so_once(window: Window) -> None:
    await window.worker.start()
    assert window.worker.alive()
    await window.worker.stop("asleep")
    await window.worker.stop()

    assert not window.worker.alive()
    assert window.log[1:] == [WorkerExited("diff-1", "git_diff", 1, why="asleep")]


async def test_a_directory_without_a_repository_cannot_be_watched(host: FilesHost) -> None:
    made = Window(host)
    with pytest.raises(WorkerError, match="git init"):
        await made.worker.start()

    assert isinstance(made.log[0], WorkerExited)
    assert made.log[0].why == "not_started"


def test_links_and_ignored_directories_are_not_watched(host: FilesHost, tmp_path: Path) -> None:
    """A link to `/` in a project must not make the server watch the whole machine."""
    (host.work / "src").mkdir()
    (host.work / "build" / "inner").mkdir(parents=True)
    (host.work / ".git").mkdir()
    (host.work / "everything").symlink_to("/")
    found = diff_watcher._folders(str(host.work), frozenset({str(host.work / "build")}))

    assert found == [str(host.work), str(host.work / "src")]


async def test_it_ends_by_itself_when_nobody_has_followed_for_a_while(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One inotify instance, its watches and two threads are too much for a panel that nobody looks at."""
    monkeypatch.setattr(diff_watcher, "IDLE_SECONDS", 0.05)
    window.follow()
    await window.worker.start()
    (task,) = (task for task in asyncio.all_tasks() if task.get_name() == "git diff session-1")
    done, _ = await asyncio.wait([task], timeout=0.5)
    assert not done, "somebody looks"
    window.host.hub.remove_client(window.client)
    await asyncio.wait_for(asyncio.wait([task]), DEADLINE)
    assert not window.worker.alive()
    assert window.log[1:] == [WorkerExited("diff-1", "git_diff", 1, why="asleep")]
    await window.worker.stop()
    assert len(window.log) == 2


async def test_following_everything_is_not_looking_at_one_session(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diff_watcher, "IDLE_SECONDS", 0.05)
    window.host.hub.subscribe(EVERYTHING, window.client)
    await window.worker.start()
    (task,) = (task for task in asyncio.all_tasks() if task.get_name() == "git diff session-1")
    await asyncio.wait_for(asyncio.wait([task]), DEADLINE)


async def test_no_more_directories_trees_are_watched_at_once_than_the_system_can_spare(
    window: Window, host: FilesHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond that git is asked now and then: changes are told all the same."""
    monkeypatch.setattr(diff_watcher, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(diff_watcher, "WATCHER_SLOTS", threading.BoundedSemaphore(1))
    other = Window(host)
    window.follow()
    await window.worker.start()
    try:
        (host.work / "file").write_text("two\n")
        await window.until({"file": "modified"})
        assert window.worker._watcher is not None
        other.follow()
        await other.worker.start()
        (host.work / "second").write_text("x\n")
        await other.until({"file": "modified", "second": "untracked"})
        assert other.worker._watcher is None
    finally:
        await other.worker.stop()
