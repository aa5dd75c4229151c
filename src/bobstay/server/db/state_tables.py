"""Access to tables that are not projections: session environments, push subscriptions and idempotent responses."""

import time

import msgspec
from msgspec import Struct
from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from bobstay.model.ids import new_id
from bobstay.server.db.database import Database
from bobstay.server.db.own_tables import idempotency, push_subscriptions, session_env
from bobstay.server.db.storable_values import as_json, bounded_id, clean
from bobstay.server.errors import ApiError

DAY = 86_400.0

# ---------------------------------------------------------------- environment variables of sessions; may be secret


async def set_environment(database: Database, session_id: str, variables: dict[str, str]) -> None:
    """Replace all variables of a session."""
    rows = [{"session_id": session_id, "name": name, "value": value} for name, value in variables.items()]
    async with database.write_transaction() as connection:
        await connection.execute(delete(session_env).where(session_env.c.session_id == session_id))
        if rows:
            await connection.execute(insert(session_env), rows)


# ---------------------------------------------------------------- push subscriptions


class Subscription(Struct, frozen=True):
    id: str
    who: str
    endpoint: str
    keys: dict[str, str]
    created_at: float
    client: str = ""
    """Its owner: when that is revoked, the subscription is removed."""
    label: str = ""
    completed: bool = False
    """Whether it is also notified of completed work, not only of interactions."""


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
    """Save a subscription; one with the same endpoint is replaced."""
    subscription = Subscription(
        new_id(), clean(who), clean(endpoint, 2000), keys, time.time(), client, clean(label, 200), completed
    )
    row = {**msgspec.structs.asdict(subscription), "keys": as_json(keys)}
    async with database.write_transaction() as connection:
        await connection.execute(
            delete(push_subscriptions).where(push_subscriptions.c.endpoint == subscription.endpoint)
        )
        await connection.execute(insert(push_subscriptions).values(row))
    return subscription


async def subscriptions(database: Database, who: str = "") -> list[Subscription]:
    query = select(push_subscriptions).order_by(push_subscriptions.c.created_at)
    if who:
        query = query.where(push_subscriptions.c.who == who)
    async with database.read_transaction() as connection:
        rows = (await connection.execute(query)).mappings().all()
    return [Subscription(**{**row, "keys": msgspec.json.decode(row["keys"])}) for row in rows]


async def unsubscribe(database: Database, id: str) -> bool:
    async with database.write_transaction() as connection:
        done = await connection.execute(delete(push_subscriptions).where(push_subscriptions.c.id == bounded_id(id)))
    return done.rowcount > 0


# ---------------------------------------------------------------- idempotent requests


class StoredResponse(Struct, frozen=True):
    """The response to the first request with the same key."""

    status: int
    body: str


async def begin_request(database: Database, who: str, key: str, fingerprint: str) -> StoredResponse | None:
    """The first request with this key gets None and must be finished or abandoned; later ones get its response.

    Raises:
        ApiError: `conflict`, the key was used for another request, or the first one still runs.
    """
    row = {"who": bounded_id(who), "key": bounded_id(key), "fingerprint": fingerprint[:64], "at": time.time()}
    old = delete(idempotency).where(idempotency.c.at < time.time() - DAY)
    try:
        async with database.write_transaction() as connection:
            await connection.execute(old)
            await connection.execute(insert(idempotency).values(row))
    except ApiError as error:
        if not isinstance(error.__cause__, IntegrityError):
            raise
    else:
        return None
    async with database.read_transaction() as connection:
        query = select(idempotency).where(idempotency.c.who == row["who"], idempotency.c.key == row["key"])
        found = (await connection.execute(query)).mappings().one_or_none()
    if found is None or found["status"] is None:
        raise ApiError("conflict", "The first request with this Idempotency-Key still runs. Ask again soon.")
    if found["fingerprint"] != row["fingerprint"]:
        raise ApiError("conflict", "This Idempotency-Key was used for another request. Use a new one.")
    return StoredResponse(found["status"], found["body"])


async def delete_unfinished_requests(database: Database) -> None:
    """Delete requests that an earlier server did not finish, so that they may be sent again."""
    async with database.write_transaction() as connection:
        await connection.execute(delete(idempotency).where(idempotency.c.status.is_(None)))


async def finish_request(database: Database, who: str, key: str, status: int, body: str) -> None:
    """Store the response for a day."""
    which = update(idempotency).where(idempotency.c.who == bounded_id(who), idempotency.c.key == bounded_id(key))
    async with database.write_transaction() as connection:
        await connection.execute(which.values(status=status, body=clean(body, 1024 * 1024)))


async def abandon_request(database: Database, who: str, key: str) -> None:
    """Release the key of a request that had no effect, so that it may be used again."""
    which = delete(idempotency).where(idempotency.c.who == bounded_id(who), idempotency.c.key == bounded_id(key))
    async with database.write_transaction() as connection:
        await connection.execute(which)
