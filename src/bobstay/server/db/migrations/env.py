"""Alembic environment: runs the migrations on a connection that the caller provides."""

from alembic import context

from bobstay.server.db.projected_tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
