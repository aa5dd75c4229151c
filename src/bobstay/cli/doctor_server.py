"""Checks of `bobstay doctor` for the console's server: folder, port, database, page. Changes nothing."""

import asyncio
import os
import socket
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

FindingRow: TypeAlias = tuple[str, Literal["ok", "warn", "fail"], str, str]
"""Check, state, finding, fix."""
TIMEOUT = 8.0
_LISTEN = "0A"


def check_server(home: str, port: int, database: str = "") -> Iterator[FindingRow]:
    state = os.path.join(home, "server")
    yield _check_folder(home, state)
    yield _check_port(state, port)
    yield _check_database(state, database)
    yield _check_page()


def _check_folder(home: str, state: str) -> FindingRow:
    check = "console"
    try:
        found = os.lstat(state)
    except FileNotFoundError:
        parent = home if os.path.isdir(home) else os.path.dirname(home)
        if os.access(parent, os.W_OK | os.X_OK):
            return check, "ok", f"{state} (not there yet; created when the console is first started)", ""
        return check, "fail", f"{state} cannot be created", f"Make {parent} yours, or set BOBSTAY_HOME."
    except OSError as error:
        return check, "fail", f"{state}: {error.strerror}", "Set BOBSTAY_HOME to a directory of yours."
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        return check, "fail", f"{state} is not a folder of yours", "Remove it, or set BOBSTAY_HOME."
    if not os.access(state, os.R_OK | os.W_OK | os.X_OK):
        return check, "fail", f"{state} is not writable", f"chmod u+rwx {state}"
    if stat.S_IMODE(found.st_mode) & 0o077:
        return check, "warn", f"other users can read {state}", f"chmod 700 {state}"
    return check, "ok", state, ""


def _check_port(state: str, port: int) -> FindingRow:
    from bobstay.server.state_lock import holder_of

    holder = holder_of(state)
    if holder is not None:
        where = f" at {holder.address}" if holder.address else ""
        return "port", "ok", f"a console runs{where} (process {holder.pid or 'unknown'})", ""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            who = _find_listener(port)
            text = f"port {port} is taken by {who}" if who else f"port {port} cannot be used: {error.strerror}"
            return "port", "warn", text, "Start the console with another --port."
    return "port", "ok", f"{port} is free", ""


def _find_listener(port: int) -> str:
    """The process that listens on a port, if this user may see it."""
    inodes: set[str] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii", errors="replace") as file:
                rows = [line.split() for line in file.readlines()[1:]]
        except OSError:
            continue
        inodes.update(row[9] for row in rows if len(row) > 9 and row[3] == _LISTEN and row[1].endswith(f":{port:04X}"))
    if not inodes:
        return ""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            links = (os.readlink(f"/proc/{name}/fd/{fd}") for fd in os.listdir(f"/proc/{name}/fd"))
            if any(link in wanted for link in links):
                with open(f"/proc/{name}/comm", encoding="utf-8", errors="replace") as file:
                    command = "".join(letter if letter.isprintable() else "?" for letter in file.read().strip())
                return f"{command} (process {name})"
        except OSError:
            continue  # it ended, or belongs to another user
    return "a process of another user"


def _check_database(state: str, address: str) -> FindingRow:
    from bobstay.server.db.database_engines import resolve
    from bobstay.server.db.database_errors import DatabaseProblem

    try:
        url = resolve(address, state)
        if url.drivername.startswith("sqlite") and not os.path.exists(url.database or ""):
            return "database", "ok", f"{url.database} (not there yet; created when the console is first started)", ""
        with asyncio.Runner() as runner:
            found, wanted = runner.run(_read_versions(url))
    except DatabaseProblem as error:
        return "database", "fail", str(error), ""
    except TimeoutError:
        return "database", "fail", "the database does not answer", "Check that it runs, and the address given to --db."
    where = (url.database or "") if url.drivername.startswith("sqlite") else url.render_as_string(hide_password=True)
    if found and found > wanted:
        return "database", "fail", f"{where} has schema {found}, newer than {wanted}", "Use the newer bobstay, or --db."
    behind = "" if found == wanted else f", migrated to {wanted} when the console starts"
    return "database", "ok", f"{where} (schema {found or 'none yet'}{behind})", ""


async def _read_versions(url: "URL") -> tuple[str, str]:
    from bobstay.server.db.database_engines import read_only_engine
    from bobstay.server.db.migration import versions

    engine = read_only_engine(url)
    try:
        async with asyncio.timeout(TIMEOUT):
            return await versions(engine)
    finally:
        await engine.dispose()


def _check_page() -> FindingRow:
    from bobstay.server.static_files import BUILT, INDEX

    if os.path.isfile(os.path.join(BUILT, INDEX)):
        return "page", "ok", f"built, in {BUILT}", ""
    return "page", "warn", "the page of the console is not built: a plain page is shown", "Run `make web` (needs Node)."
