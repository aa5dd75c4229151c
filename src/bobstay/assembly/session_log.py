"""Opens a session's log: a new one, an earlier one, a fork, or one imported from a foreign transcript."""

import os
from typing import Any

from msgspec import Struct

from bobstay.config.environment import Environment
from bobstay.config.options import Options
from bobstay.model.event import Envelope, SessionStarted
from bobstay.model.ids import new_id
from bobstay.sessions.log import Log, SessionMissing
from bobstay.sessions.log_store import LogStore
from bobstay.version import __version__


class OpenedLog(Struct, frozen=True):
    log: Log
    branch: list[Envelope]
    warnings: list[str]
    scratch: str = ""
    """A temporary folder to remove at the end, if the session is not persisted."""


def open_log(options: Options, environment: Environment, cwd: str, model: str) -> OpenedLog:
    """Open the log the options ask for.

    Raises:
        LogError: it is missing, in use, or cannot be written.
    """
    scratch = ""
    folder = environment.paths.sessions
    if options.no_session_persistence:
        from tempfile import mkdtemp

        scratch = folder = mkdtemp(prefix="bobstay-")
    store = LogStore(folder)
    earlier = _find_earlier(options, store, environment, cwd)
    if earlier is None:
        log = store.create(options.session_id or new_id(), SessionStarted(cwd, __version__, model))
        return OpenedLog(log, [], [], scratch)
    if options.fork_session:
        started = SessionStarted(cwd, __version__, model, forked_from=earlier)
        forked = options.session_id or new_id()
        store.fork(earlier, forked, options.resume_session_at, started).close()
        log, branch, warnings = store.open(forked)
    else:
        log, branch, warnings = store.open(earlier, options.resume_session_at or "")
        root = next((each.event.cwd for each in branch if isinstance(each.event, SessionStarted)), cwd)
        if os.path.realpath(root) != os.path.realpath(cwd):
            moved = (
                f"This session was started in {root} and continues in {cwd}, with the paths and trust of that folder"
            )
            warnings = [*warnings, f"{moved}. To continue in {root}, start it there."]
    return OpenedLog(log, branch, warnings, scratch)


def _find_earlier(options: Options, store: LogStore, environment: Environment, cwd: str) -> str | None:
    """Return the id of the session to continue, imported from a foreign transcript if needed; None for a new one."""
    if options.continue_:
        latest = store.latest(cwd)
        return latest.id if latest is not None else None
    if options.resume is None:
        return None
    if not store.exists(options.resume):
        from bobstay.sessions.claude_import import find_transcript, import_transcript

        path: Any = find_transcript(environment.paths.claude, cwd, options.resume)
        if path is None and options.resume.endswith(".jsonl") and os.path.isfile(options.resume):
            path = options.resume
        if path is None:
            raise SessionMissing(f"No conversation found with session ID: {options.resume}")
        session_id = os.path.basename(str(path)).removesuffix(".jsonl")
        if not store.exists(session_id):
            import_transcript(store, session_id, path).close()
        return session_id
    return options.resume
