"""`bobstay reindex`: makes the console's tables anew from the sessions' logs."""

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

Drops what the console's tables hold of sessions and makes it anew from their logs. Tasks of people, tokens, settings
and the audit trail are kept. The server must not run meanwhile.

  --db URL        the database, as given to `bobstay serve`; SQLite in bobstay's folder if not named
  --db-file FILE  a file that holds that URL; or the variable BOBSTAY_DB. For URLs with a password
  --set-aside     move a damaged SQLite file aside first; what no log holds is saved from it as far as it can be read
  --adopt         use a database that holds the sessions of another home: they are replaced by those of this one
"""


def run(arguments: list[str]) -> int:
    """Return 0 if all is in the tables, 1 if something went wrong, 2 for a wrong command line."""
    words = list(arguments)
    url, aside, adopt = "", False, False
    file: str | None = None
    while words:
        word = words.pop(0)
        if word in ("--help", "-h"):
            sys.stdout.write(USAGE)
            return 0
        if word == "--set-aside":
            aside = True
        elif word == "--adopt":
            adopt = True
        elif word == "--db" and words:
            url = words.pop(0)
        elif word.startswith("--db="):
            url = word.removeprefix("--db=")
        elif word == "--db-file" and words:
            file = words.pop(0)
        elif word.startswith("--db-file="):
            file = word.removeprefix("--db-file=")
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
    from bobstay.server.db.salvage import salvage, set_aside
    from bobstay.sessions.log_store import LogStore

    state = f"{paths.bobstay}/server"
    file = resolve(url, state)
    moved = ""
    if aside:
        if not file.drivername.startswith("sqlite") or not file.database:
            sys.stderr.write("Only a SQLite file can be set aside. Restore a PostgreSQL database from its backup.\n")
            return 2
        moved = set_aside(file.database, state)
    store = LogStore(paths.sessions)
    began = time.monotonic()
    database = await Database.open(url, state, store, adopt=adopt)
    try:
        saved = await salvage(database, moved) if moved else None
        counts = await database.rebuild(store)
    finally:
        await database.close()
    _tell(counts, saved, time.monotonic() - began)
    return 1 if counts.skipped else 0


def _tell(counts: "Counts", saved: "SalvageReport | None", seconds: float) -> None:
    if saved is not None:
        sys.stdout.write(f"The damaged file is kept as {saved.path}.\n")
        rows = ", ".join(f"{count} of {table}" for table, count in saved.saved.items()) or "nothing"
        sys.stdout.write(f"Saved from it: {rows}.\n")
        if saved.lost:
            sys.stdout.write(f"Could not be read, or not wholly: {', '.join(saved.lost)}.\n")
    sys.stdout.write(f"{counts.sessions} sessions, {counts.entries} entries in {seconds:.1f} s.\n")
    if counts.skipped:
        sys.stdout.write(f"{counts.skipped} entries were refused by the database; they are in the logs.\n")
