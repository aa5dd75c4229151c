"""What alembic runs around each migration: the connection is given, never made here."""

from alembic import context

from bobstay.server.db.projected_tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
