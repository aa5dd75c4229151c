"""Variables of the environment that single sessions are run with. They may be secret: no log and no frame has them."""

from sqlalchemy import select

from bobstay.server.errors import ApiError
from bobstay.server.index import notebook
from bobstay.server.index.database import Database
from bobstay.server.index.own_tables import session_env

MOST = 100
LONGEST = 32 * 1024
FORBIDDEN = ("LD_", "DYLD_", "BOBSTAY_", "PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS", "BASH_ENV", "ENV", "PATH")
"""Beginnings of names that decide which code runs: only whoever starts the server sets those."""


REDIRECTING = ("_BASE_URL", "_PROXY", "_proxy")
"""Ends of names that decide where keys are sent."""


class Variables:
    """By session; kept in the database, and here so that starting an agent need not wait for it."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, str]] = {}

    async def load(self, database: Database) -> None:
        async with database.reading() as connection:
            for row in await connection.execute(select(session_env)):
                self._known.setdefault(row.session_id, {})[row.name] = row.value

    def of(self, session_id: str) -> dict[str, str]:
        return self._known.get(session_id, {})

    async def give(self, database: Database, session_id: str, variables: dict[str, str]) -> None:
        await notebook.set_environment(database, session_id, variables)
        self._known[session_id] = dict(variables)

    async def take_away(self, database: Database, session_id: str) -> None:
        """The session is no more: nothing secret of it is kept."""
        if self._known.pop(session_id, None):
            await notebook.set_environment(database, session_id, {})


def check(variables: dict[str, str]) -> None:
    """Raises:
    ApiError: a name or a value cannot be in an environment, or must not be set from here.
    """
    if len(variables) > MOST:
        raise ApiError("invalid", f"A session has at most {MOST} variables of its own.")
    for name, value in variables.items():
        if not name.replace("_", "a").isalnum() or not name.isascii() or name[0].isdigit():
            raise ApiError("invalid", f"{name[:80]!r} cannot be the name of a variable.")
        if name.startswith(FORBIDDEN) or name.endswith(REDIRECTING):
            raise ApiError(
                "forbidden",
                f"{name[:80]} decides which code runs or where keys go: it is set where the server is started.",
            )
        if "\0" in value or len(value) > LONGEST:
            raise ApiError("invalid", f"The value of {name[:80]} is too long, or holds a NUL.")
