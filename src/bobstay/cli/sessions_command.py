"""`bobstay sessions`: lists sessions, newest first."""

import os
import sys
import time

from bobstay.config.paths import Paths
from bobstay.sessions.log_store import LogStore


def run(arguments: list[str]) -> int:
    if arguments and arguments != ["--all"]:
        sys.stderr.write(
            "Usage: bobstay sessions [--all]\nLists the sessions of this directory; with --all, of every directory.\n"
        )
        return 0 if arguments[0] in ("--help", "-h") else 1
    here = None if arguments else os.getcwd()
    listed = _store().list(here)
    if not listed:
        sys.stdout.write("No sessions yet.\n" if arguments else "No sessions in this directory yet. Try --all.\n")
    for summary in listed:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.last_activity))
        sys.stdout.write(f"{summary.id}  {when}  {summary.cwd}\n    {summary.first_prompt or '(no prompt)'}\n")
    return 0


def _store() -> LogStore:
    return LogStore(Paths.read(os.environ).sessions)
