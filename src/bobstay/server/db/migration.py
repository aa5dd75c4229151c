"""Migrates a database to the schema of this version, in one transaction."""

import os
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from bobstay.server.db.database_claim import ADVISORY
from bobstay.server.db.database_engines import Engines
from bobstay.server.db.database_errors import DatabaseProblem, translate_errors

FOLDER = os.path.join(os.path.dirname(__file__), "migrations")


async def migrate(engines: Engines) -> None:
    """Raises:
    DatabaseProblem: the schema is newer than this version, or cannot be changed.
    """
    with translate_errors():
        async with engines.write.begin() as connection:
            await connection.run_sync(upgrade)


def upgrade(connection: Connection) -> None:
    """Run missing migrations in the transaction of the caller; a second process waits until the first is done."""
    from alembic import command
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY + 1})
    config = configuration()
    script = ScriptDirectory.from_config(config)
    known = {revision.revision for revision in script.walk_revisions()}
    current = MigrationContext.configure(connection).get_current_heads()
    if set(current) - known:
        raise DatabaseProblem("newer", f"schema {', '.join(sorted(current))[:100]}")
    if set(current) != set(script.get_heads()):
        config.attributes["connection"] = connection
        command.upgrade(config, "heads")


async def versions(engine: AsyncEngine) -> tuple[str, str]:
    """The schema version of a database, empty for none, and the one this version needs. Nothing is changed.

    Raises:
        DatabaseProblem: it cannot be read.
    """
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    def current(connection: Connection) -> str:
        return ", ".join(sorted(MigrationContext.configure(connection).get_current_heads()))

    with translate_errors():
        async with engine.connect() as connection:
            found = await connection.run_sync(current)
    return found, ", ".join(ScriptDirectory.from_config(configuration()).get_heads())


def configuration() -> Any:
    """Alembic's configuration, without a file: the migrations are part of the package."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", FOLDER.replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
