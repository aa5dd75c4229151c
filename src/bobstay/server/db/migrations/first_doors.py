"""The tables of the doors as they were in the first schema; part of migration 0001."""

import sqlalchemy as sa
from alembic import op


def create() -> None:
    op.create_table(
        "auth_clients",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("who", sa.String(length=200), nullable=False),
        sa.Column("label", sa.String(length=200), nullable=False),
        sa.Column("secret_sha256", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.String(length=100), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("created_by", sa.String(length=200), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.Column("last_seen", sa.Double(), nullable=True),
        sa.Column("revoked_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_auth_clients")),
        sa.UniqueConstraint("secret_sha256", name=op.f("uq_auth_clients_secret_sha256")),
    )
    op.create_index("auth_clients_who", "auth_clients", ["who"], unique=False)
    op.create_table(
        "auth_codes",
        sa.Column("code_sha256", sa.String(length=64), nullable=False),
        sa.Column("who", sa.String(length=200), nullable=False),
        sa.Column("label", sa.String(length=200), nullable=False),
        sa.Column("scopes", sa.String(length=100), nullable=False),
        sa.Column("created_by", sa.String(length=200), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("lifetime", sa.Double(), nullable=False),
        sa.Column("used_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("code_sha256", name=op.f("pk_auth_codes")),
    )
    op.create_table(
        "auth_users",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("password_hash", sa.String(length=256), nullable=True),
        sa.Column("scopes", sa.String(length=100), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("created_by", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_auth_users")),
    )
