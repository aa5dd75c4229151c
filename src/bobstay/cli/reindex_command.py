"""`bobstay reindex`: rebuilds the console's tables from the session logs."""

import asyncio
import os
import sys
import time
from typing import TYPE_CHECKING

from bobstay.cli.database_url import database_url
from bobstay.config.paths import Paths

if TYPE_CHECKING:
    from bobstay.server.db.database import Counts
    from bobstay.server.db.salvage import SalvageReport

USAGE = """\
Usage: bobstay reindex [--db URL | --db-file FILE] [--set-aside] [--adopt]

Drops the session data in the console's tables and rebuilds it from the logs. Tasks of people, tokens, settings and
the audit log are kept. The server must not run meanwhile.

  --db URL        the database, as given to `bobstay serve`; SQLite in bobstay's folder if not named
  --db-file FILE  a file that contains that URL; or the variable BOBSTAY_DB. For URLs with a password
  --set-aside     move a damaged SQLite file aside first; data that is in no log is salvaged from it
  --adopt         use a database with sessions of another home: they are replaced by those of this one
"""


def run(arguments: list[str]) -> int:
    """Return 0 on success, 1 if something failed, 2 for an invalid command line."""
    remaining = list(arguments)
    url, aside, adopt = "", False, False
    file: str | None = None
    while remaining:
        argument = remaining.pop(0)
        if argument in ("--help", "-h"):
            sys.stdout.write(USAGE)
            return 0
        if argument == "--set-aside":
            aside = True
        elif argument == "--adopt":
            adopt = True
        elif argument == "--db" and remaining:
            url = remaining.pop(0)
        elif argument.startswith("--db="):
            url = argument.removeprefix("--db=")
        elif argument == "--db-file" and remaining:
            file = remaining.pop(0)
        elif argument.startswith("--db-file="):
            file = argument.removeprefix("--db-file=")
        else:
            sys.stderr.write(USAGE)
            return 2
    try:
        url = database_url(url, file)
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    from bobstay.server.errors import ApiError

    try:
        return asyncio.run(_reindex(Paths.read(os.environ), url, aside=aside, adopt=adopt))
    except ApiError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("Stopped. The logs are untouched; run `bobstay reindex` again.\n")
        return 130


async def _reindex(paths: Paths, url: str, *, aside: bool, adopt: bool) -> int:
    from bobstay.server.db.database import Database
    from bobstay.server.db.database_engines import resolve
    from bobstay.server.db.salvage import quarantine_database, salvage
    from bobstay.sessions.log_store import LogStore

    state = f"{paths.bobstay}/server"
    file = resolve(url, state)
    moved = ""
    if aside:
        if not file.drivername.startswith("sqlite") or not file.database:
            sys.stderr.write("Only a SQLite file can be set aside. Restore a PostgreSQL database from its backup.\n")
            return 2
        moved = quarantine_database(file.database, state)
    store = LogStore(paths.sessions)
    started = time.monotonic()
    database = await Database.open(url, state, store, adopt=adopt)
    try:
        salvaged = await salvage(database, moved) if moved else None
        counts = await database.rebuild()
    finally:
        await database.close()
    _print_report(counts, salvaged, time.monotonic() - started)
    return 1 if counts.skipped else 0


def _print_report(counts: "Counts", salvaged: "SalvageReport | None", seconds: float) -> None:
    if salvaged is not None:
        sys.stdout.write(f"The damaged file is kept as {salvaged.path}.\n")
        rows = ", ".join(f"{count} of {table}" for table, count in salvaged.saved.items()) or "nothing"
        sys.stdout.write(f"Saved from it: {rows}.\n")
        if salvaged.lost:
            sys.stdout.write(f"Could not be read, or not wholly: {', '.join(salvaged.lost)}.\n")
    sys.stdout.write(f"{counts.sessions} sessions, {counts.entries} entries in {seconds:.1f} s.\n")
    if counts.skipped:
        sys.stdout.write(f"{counts.skipped} entries were refused by the database; they are in the logs.\n")
