"""A real PostgreSQL cluster for the tests, in a temporary folder that is removed afterwards."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from tests.kit.waiting import DEADLINE

PACKAGE = "postgresql (Debian: apt-get install postgresql-15)"
NOBODY = 65534
USER = "tester"
SHARED = "shared"
SETTINGS = (
    "wal_writer_delay=10s",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "shared_buffers=32MB",
    "autovacuum=off",
)
"""Nothing is flushed: a crash loses what was committed in the last seconds, which tests rely on."""
START_SECONDS = DEADLINE


def binaries() -> Path | None:
    """The folder of the newest PostgreSQL on this machine."""
    found = shutil.which("postgres")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[4]))
    return versions[-1].parent if versions else None


class Cluster:
    """Listens on a Unix socket in its folder only. It refuses to run as root, so there it runs as nobody."""

    def __init__(self, programs: Path) -> None:
        memory = "/dev/shm"
        self.folder = Path(tempfile.mkdtemp(prefix="bobstay-pg-", dir=memory if os.access(memory, os.W_OK) else None))
        self._programs = programs
        self._process: subprocess.Popen[bytes] | None = None
        self._count = 0
        self._shared = ""
        if os.getuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
        made = [str(programs / "initdb"), "-D", str(self.data), "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C"]
        subprocess.run([*_as_nobody(), *made, "--no-sync"], check=True, stdout=subprocess.DEVNULL, cwd=self.folder)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        options = [option for setting in SETTINGS for option in ("-c", setting)]
        command = [str(self._programs / "postgres"), "-D", str(self.data), "-k", str(self.folder), "-h", "", *options]
        with open(self.folder / "log", "ab") as output:
            self._process = subprocess.Popen(
                [*_as_nobody(), *command], stdout=output, stderr=output, cwd=self.folder, start_new_session=True
            )
        ready = [str(self._programs / "pg_isready"), "-q", "-h", str(self.folder)]
        deadline = time.monotonic() + START_SECONDS
        while subprocess.run(ready, check=False).returncode != 0:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.folder / "log").read_text(errors="replace")[-2000:])
            time.sleep(0.02)  # asking costs a process; there is nothing to wait on

    def stop(self, *, crash: bool = True) -> None:
        """At once, as after a crash of the machine it runs on; or in good order, so that nothing committed is lost."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if crash else signal.SIGINT)
            self._process.wait(START_SECONDS)
            self._process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    async def new_database(self, name: str = "") -> str:
        """The address of an empty database."""
        self._count += 1
        name = name or f"test_{self._count}"
        connection = await asyncpg.connect(host=str(self.folder), user=USER, database="postgres")
        try:
            await connection.execute(f"CREATE DATABASE {name}")
        finally:
            await connection.close()
        return self.address(name)

    async def empty_database(self) -> str:
        """The address of a database that others used and nobody uses now: emptying is faster than making."""
        if not self._shared:
            self._shared = await self.new_database(SHARED)
        else:
            connection = await asyncpg.connect(host=str(self.folder), user=USER, database=SHARED)
            try:
                await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            finally:
                await connection.close()
        return self._shared

    def address(self, name: str) -> str:
        return f"postgresql://{USER}@/{name}?host={self.folder}"


def running_cluster() -> Iterator[Cluster]:
    """A cluster for the length of a fixture; without PostgreSQL its tests are skipped, or fail where all must run."""
    programs = binaries()
    if programs is None:
        if os.environ.get("CI"):
            pytest.fail(f"The tests need {PACKAGE}.")
        pytest.skip(f"needs {PACKAGE}")
    made = Cluster(programs)
    try:
        made.start()
        yield made
    finally:
        made.remove()


def _as_nobody() -> list[str]:
    """As somebody who is not root, and never longer than these tests, even if they are killed."""
    if shutil.which("setpriv") is None:
        return []
    identity = ["--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"] if os.getuid() == 0 else []
    return ["setpriv", *identity, "--pdeathsig", "QUIT", "--"]
