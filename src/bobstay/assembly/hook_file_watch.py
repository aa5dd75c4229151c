"""Watches files for hooks: those that FileChanged hooks name, and settings files for ConfigChange hooks.

It looks once a second, and only while such hooks exist: no more than a few files are ever watched.
"""

import asyncio
import os
from typing import TYPE_CHECKING, TypeAlias

from bobstay.assembly.session_hooks import SessionHooks
from bobstay.assembly.start_context import StartContext
from bobstay.config.paths import local_settings, project_settings
from bobstay.engine.toolbox import Toolbox
from bobstay.engine.turn_hooks import start_hooks
from bobstay.hooks.matcher import watched_names

if TYPE_CHECKING:
    from collections.abc import Iterable

Signature: TypeAlias = tuple[int, int, int] | None
"""Time of change, size and number of a file; None if there is none."""
MOST_FILES = 200


class HookFileWatch:
    """Runs while the session is open."""

    def __init__(self, hooks: SessionHooks, toolbox: Toolbox, start: StartContext) -> None:
        self.look_every = 1.0
        self._hooks = hooks
        self._toolbox = toolbox
        paths, cwd = start.environment.paths, start.cwd
        self._settings = dict.fromkeys(paths.user_settings, "user_settings")
        self._settings |= dict.fromkeys(project_settings(cwd), "project_settings")
        self._settings |= dict.fromkeys(local_settings(cwd), "local_settings")
        self._seen: dict[str, Signature] = {}
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Watch from now on, if there are hooks to tell; else as soon as there are."""
        self._hooks.listeners.append(self._update)
        self._update()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    def _update(self) -> None:
        for path in self._list_files():
            self._seen.setdefault(path, _signature(path))
        if self._seen and self._task is None:
            self._task = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self.look_every)
            for path in self._list_files():
                now = _signature(path)
                before = self._seen.setdefault(path, now)
                if now != before:
                    self._seen[path] = now
                    self._tell(path, "add" if before is None else "unlink" if now is None else "change")

    def _tell(self, path: str, event: str) -> None:
        name = os.path.basename(path)
        start_hooks(self._toolbox, "FileChanged", name, in_order=True, file_path=path, event=event)
        if source := self._settings.get(path):
            start_hooks(self._toolbox, "ConfigChange", source, in_order=True, source=source, file_path=path)

    def _list_files(self) -> "Iterable[str]":
        commands = self._hooks.commands
        if commands is None:
            return ()
        environment = self._toolbox.tool_environment
        folders = dict.fromkeys((str(environment.root), str(environment.cwd)))
        names = [name for matcher in commands.list_matchers("FileChanged") for name in watched_names(matcher)]
        files = [os.path.join(folder, name) for folder in folders for name in names][:MOST_FILES]
        settings = [path for path, source in self._settings.items() if commands.wants("ConfigChange", source)]
        return dict.fromkeys((*files, *settings))


def _signature(path: str) -> Signature:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)
