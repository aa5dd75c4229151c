"""Small things the server must remember that no log holds: directories, environments, settings, devices, answers."""

import time
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from bobstay.model.ids import new_id
from bobstay.server.db.apply_changes import upsert
from bobstay.server.db.database import Database
from bobstay.server.db.own_tables import idempotency, push_subscriptions, recent_dirs, session_env, settings
from bobstay.server.db.storable_values import as_json, clean, identity
from bobstay.server.errors import ApiError

DAY = 86_400.0
MOST_DIRECTORIES = 50
LONGEST_PATH = 2_000
"""In bytes: longer ones cannot be a key in PostgreSQL, and nobody chooses them from a list."""

# ---------------------------------------------------------------- directories sessions were begun in


async def used_directory(database: Database, path: str) -> None:
    path = clean(path)
    if len(path.encode()) > LONGEST_PATH:
        return
    async with database.owning() as connection:
        again = update(recent_dirs).where(recent_dirs.c.path == path)
        done = await connection.execute(again.values(used_at=time.time(), uses=recent_dirs.c.uses + 1))
        if done.rowcount == 0:
            row = {"path": path, "used_at": time.time(), "uses": 1}
            await connection.execute(upsert(database.engines.dialect, recent_dirs), [row])


async def recent_directories(database: Database, limit: int = MOST_DIRECTORIES) -> list[str]:
    """Those used last first."""
    query = select(recent_dirs.c.path).order_by(recent_dirs.c.used_at.desc(), recent_dirs.c.path)
    async with database.reading() as connection:
        return list(await connection.scalars(query.limit(max(1, min(limit, MOST_DIRECTORIES)))))


# ---------------------------------------------------------------- variables a session is run with; they may be secret


async def set_environment(database: Database, session_id: str, variables: dict[str, str]) -> None:
    """Replace all variables of a session."""
    rows = [{"session_id": session_id, "name": name, "value": value} for name, value in variables.items()]
    async with database.owning() as connection:
        await connection.execute(delete(session_env).where(session_env.c.session_id == session_id))
        if rows:
            await connection.execute(insert(session_env), rows)


async def environment(database: Database, session_id: str) -> dict[str, str]:
    query = select(session_env.c.name, session_env.c.value).where(session_env.c.session_id == session_id)
    async with database.reading() as connection:
        return {row.name: row.value for row in await connection.execute(query)}


# ---------------------------------------------------------------- settings people make in the console


async def set_setting(database: Database, name: str, value: Any, by: str = "") -> None:
    row = {"name": identity(name), "value": as_json(value), "updated_at": time.time(), "by": clean(by)}
    async with database.owning() as connection:
        await connection.execute(upsert(database.engines.dialect, settings), [row])


async def setting(database: Database, name: str, default: Any = None) -> Any:
    async with database.reading() as connection:
        text = await connection.scalar(select(settings.c.value).where(settings.c.name == identity(name)))
    try:
        return default if text is None else msgspec.json.decode(text)
    except msgspec.DecodeError:
        return default


# ---------------------------------------------------------------- devices that want to be told


class Subscription(Struct, frozen=True):
    id: str
    who: str
    endpoint: str
    keys: dict[str, str]
    created_at: float
    client: str = ""
    """Whose it is: when that is revoked, it goes too."""
    label: str = ""
    completed: bool = False
    """Whether it wants to hear of work that is done, beside what needs a person."""


async def subscribe(
    database: Database,
    who: str,
    endpoint: str,
    keys: dict[str, str],
    *,
    client: str = "",
    label: str = "",
    completed: bool = False,
) -> Subscription:
    """Note a device; one that is known under the same address already is noted anew."""
    found = Subscription(
        new_id(), clean(who), clean(endpoint, 2000), keys, time.time(), client, clean(label, 200), completed
    )
    row = {**msgspec.structs.asdict(found), "keys": as_json(keys)}
    async with database.owning() as connection:
        await connection.execute(delete(push_subscriptions).where(push_subscriptions.c.endpoint == found.endpoint))
        await connection.execute(insert(push_subscriptions).values(row))
    return found


async def subscriptions(database: Database, who: str = "") -> list[Subscription]:
    query = select(push_subscriptions).order_by(push_subscriptions.c.created_at)
    if who:
        query = query.where(push_subscriptions.c.who == who)
    async with database.reading() as connection:
        rows = (await connection.execute(query)).mappings().all()
    return [Subscription(**{**row, "keys": msgspec.json.decode(row["keys"])}) for row in rows]


async def unsubscribe(database: Database, id: str) -> bool:
    async with database.owning() as connection:
        done = await connection.execute(delete(push_subscriptions).where(push_subscriptions.c.id == identity(id)))
    return done.rowcount > 0


# ---------------------------------------------------------------- requests that may come twice


class Earlier(Struct, frozen=True):
    """What the same request was answered the first time."""

    status: int
    body: str


async def begin(database: Database, who: str, key: str, fingerprint: str) -> Earlier | None:
    """The first request with this key gets None and must `finish` or `abandon`; a later one gets the first's answer.

    Raises:
        ApiError: `conflict`, the key was used for another request, or the first one still runs.
    """
    row = {"who": identity(who), "key": identity(key), "fingerprint": fingerprint[:64], "at": time.time()}
    old = delete(idempotency).where(idempotency.c.at < time.time() - DAY)
    try:
        async with database.owning() as connection:
            await connection.execute(old)
            await connection.execute(insert(idempotency).values(row))
    except ApiError as error:
        if not isinstance(error.__cause__, IntegrityError):
            raise
    else:
        return None
    async with database.reading() as connection:
        query = select(idempotency).where(idempotency.c.who == row["who"], idempotency.c.key == row["key"])
        found = (await connection.execute(query)).mappings().one_or_none()
    if found is None or found["status"] is None:
        raise ApiError("conflict", "The first request with this Idempotency-Key still runs. Ask again soon.")
    if found["fingerprint"] != row["fingerprint"]:
        raise ApiError("conflict", "This Idempotency-Key was used for another request. Use a new one.")
    return Earlier(found["status"], found["body"])


async def forget_unfinished(database: Database) -> None:
    """An earlier server ended while it ran these requests: they may be sent again."""
    async with database.owning() as connection:
        await connection.execute(delete(idempotency).where(idempotency.c.status.is_(None)))


async def finish(database: Database, who: str, key: str, status: int, body: str) -> None:
    """Keep the answer for a day."""
    which = update(idempotency).where(idempotency.c.who == identity(who), idempotency.c.key == identity(key))
    async with database.owning() as connection:
        await connection.execute(which.values(status=status, body=clean(body, 1024 * 1024)))


async def abandon(database: Database, who: str, key: str) -> None:
    """The request had no effect: the same key may be used again."""
    which = delete(idempotency).where(idempotency.c.who == identity(who), idempotency.c.key == identity(key))
    async with database.owning() as connection:
        await connection.execute(which)
