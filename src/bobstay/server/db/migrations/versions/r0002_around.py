"""Adds a table for engine inventories, owners of push subscriptions, and the day of tool calls."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "surroundings",
        sa.Column("session_id", sa.String(length=200), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_surroundings")),
    )
    # Nobody could subscribe before: existing rows belong to no client.
    op.execute("DELETE FROM push_subscriptions")
    for column in (
        sa.Column("client", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("label", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("completed", sa.Boolean(), server_default=sa.false(), nullable=False),
    ):
        op.add_column("push_subscriptions", column)
    op.add_column("tool_calls", sa.Column("day", sa.String(length=10), nullable=True))
    op.create_index("ix_tool_calls_day", "tool_calls", ["day"], unique=False)
