"""Adds a table for drafts, which are in no log."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "drafts",
        sa.Column("who", sa.String(length=200), nullable=False),
        sa.Column("session_id", sa.String(length=200), nullable=False),
        sa.Column("text", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated_at", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("who", "session_id", name=op.f("pk_drafts")),
    )
