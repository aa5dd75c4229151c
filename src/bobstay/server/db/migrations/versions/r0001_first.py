"""The first schema, fixed as it was then, independent of later changes of the table modules."""

import sqlalchemy as sa
from alembic import op

from bobstay.server.db import fulltext_dialects
from bobstay.server.db.migrations.first_doors import create as create_doors

revision = "0001"
down_revision = None


def upgrade() -> None:
    _artifacts()
    _audit()
    _documents()
    _idempotency()
    _interactions()
    _messages()
    _parts()
    _push_subscriptions()
    _recent_dirs()
    _session_env()
    _sessions()
    _settings()
    _tasks()
    _tool_calls()
    _usage()
    create_doors()
    fulltext_dialects.create_search_index(op.get_bind())


def _artifacts() -> None:
    op.create_table(
        "artifacts",
        sa.Column("session_id", sa.String(length=200), nullable=False),
        sa.Column("id", sa.String(length=200), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("kind", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("title", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("text", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("call_id", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.PrimaryKeyConstraint("session_id", "id", name=op.f("pk_artifacts")),
    )


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("at", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("who", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("what", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("session_id", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("detail", sa.Text(), server_default=sa.text("'{}'"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index("ix_audit_session", "audit", ["session_id", "id"], unique=False)


def _documents() -> None:
    op.create_table(
        "documents",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("session_id", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("ref", sa.String(length=300), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_documents")),
        sa.UniqueConstraint("session_id", "kind", "ref", name=op.f("uq_documents_session_id_kind_ref")),
    )
    op.create_index("ix_documents_at", "documents", ["at", "id"], unique=False)


def _idempotency() -> None:
    op.create_table(
        "idempotency",
        sa.Column("who", sa.String(length=200), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("body", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("who", "key", name=op.f("pk_idempotency")),
    )
    op.create_index("ix_idempotency_at", "idempotency", ["at"], unique=False)


def _interactions() -> None:
    op.create_table(
        "interactions",
        sa.Column("session_id", sa.String(length=200), nullable=False),
        sa.Column("id", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=True),
        sa.Column("call_id", sa.Text(), nullable=True),
        sa.Column("tool", sa.Text(), nullable=True),
        sa.Column("input", sa.Text(), nullable=True),
        sa.Column("input_sha256", sa.Text(), nullable=True),
        sa.Column("agent", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("opened_seq", sa.BigInteger(), nullable=True),
        sa.Column("opened_at", sa.Double(), nullable=True),
        sa.Column("outcome", sa.String(length=20), nullable=True),
        sa.Column("by", sa.Text(), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("changed_input", sa.Text(), nullable=True),
        sa.Column("closed_seq", sa.BigInteger(), nullable=True),
        sa.Column("closed_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("session_id", "id", name=op.f("pk_interactions")),
    )
    op.create_index("ix_interactions_opened", "interactions", ["opened_at"], unique=False)


def _messages() -> None:
    op.create_table(
        "messages",
        sa.Column("session_id", sa.String(length=200), nullable=False),
        sa.Column("id", sa.String(length=200), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("at", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("origin", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("agent", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("parent_call", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("stop", sa.Text(), nullable=True),
        sa.Column("usage", sa.Text(), nullable=True),
        sa.Column("cost", sa.Double(), nullable=True),
        sa.Column("data", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("session_id", "id", name=op.f("pk_messages")),
    )
    op.create_index("ix_messages_seq", "messages", ["session_id", "seq"], unique=False)


def _parts() -> None:
    op.create_table(
        "parts",
        sa.Column("session_id", sa.String(length=200), nullable=False),
        sa.Column("message_id", sa.String(length=200), nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("text", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("length", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=True),
        sa.Column("media_type", sa.Text(), nullable=True),
        sa.Column("partial", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("session_id", "message_id", "place", name=op.f("pk_parts")),
    )


def _push_subscriptions() -> None:
    op.create_table(
        "push_subscriptions",
        sa.Column("id", sa.String(length=200), nullable=False),
        sa.Column("who", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("endpoint", sa.String(length=2000), nullable=False),
        sa.Column("keys", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created_at", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_push_subscriptions")),
        sa.UniqueConstraint("endpoint", name=op.f("uq_push_subscriptions_endpoint")),
    )


def _recent_dirs() -> None:
    op.create_table(
        "recent_dirs",
        sa.Column("path", sa.String(length=2000), nullable=False),
        sa.Column("used_at", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("uses", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("path", name=op.f("pk_recent_dirs")),
    )


def _session_env() -> None:
    op.create_table(
        "session_env",
        sa.Column("session_id", sa.String(length=200), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("value", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.PrimaryKeyConstraint("session_id", "name", name=op.f("pk_session_env")),
    )


def _sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(length=200), nullable=False),
        sa.Column("title", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("cwd", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("project", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("status", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("activity", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("engine", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("workflow", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("model", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("parent", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created_at", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("updated_at", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("ended_at", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("archived", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("pinned", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("waiting", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("turns", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("cost", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("context", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("context_limit", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("seq", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("entry", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("turn_seq", sa.BigInteger(), nullable=True),
        sa.Column("over_seq", sa.BigInteger(), nullable=True),
        sa.Column("in_turn", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("log_size", sa.BigInteger(), nullable=True),
        sa.Column("stored", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("view", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    op.create_index("ix_sessions_project", "sessions", ["project", "updated_at"], unique=False)
    op.create_index("ix_sessions_updated_at", "sessions", ["updated_at", "id"], unique=False)


def _settings() -> None:
    op.create_table(
        "settings",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("value", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated_at", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("by", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_settings")),
    )


def _tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("id", sa.String(length=300), nullable=False),
        sa.Column("session_id", sa.String(length=200), nullable=False),
        sa.Column("source", sa.String(length=8), nullable=False),
        sa.Column("title", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("status", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("description", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("sort_order", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("updated_at", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("by", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
    )
    op.create_index("ix_tasks_session", "tasks", ["session_id", "source"], unique=False)


def _tool_calls() -> None:
    op.create_table(
        "tool_calls",
        sa.Column("session_id", sa.String(length=200), nullable=False),
        sa.Column("call_id", sa.String(length=200), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("input", sa.Text(), nullable=True),
        sa.Column("input_length", sa.BigInteger(), nullable=True),
        sa.Column("agent", sa.Text(), nullable=True),
        sa.Column("parent_call", sa.Text(), nullable=True),
        sa.Column("called_seq", sa.BigInteger(), nullable=True),
        sa.Column("called_at", sa.Double(), nullable=True),
        sa.Column("started_seq", sa.BigInteger(), nullable=True),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("result_seq", sa.BigInteger(), nullable=True),
        sa.Column("result_at", sa.Double(), nullable=True),
        sa.Column("output", sa.Text(), nullable=True),
        sa.Column("output_length", sa.BigInteger(), nullable=True),
        sa.Column("display", sa.Text(), nullable=True),
        sa.Column("is_error", sa.Boolean(), nullable=True),
        sa.Column("denied", sa.Boolean(), nullable=True),
        sa.Column("interrupted", sa.Boolean(), nullable=True),
        sa.Column("duration_ms", sa.BigInteger(), nullable=True),
        sa.Column("rev", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("session_id", "call_id", name=op.f("pk_tool_calls")),
    )
    op.create_index("ix_tool_calls_name", "tool_calls", ["name"], unique=False)
    op.create_index("ix_tool_calls_result", "tool_calls", ["session_id", "result_seq"], unique=False)


def _usage() -> None:
    op.create_table(
        "usage",
        sa.Column("session_id", sa.String(length=200), nullable=False),
        sa.Column("id", sa.String(length=200), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("model", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("agent", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("input", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("output", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("cache_read", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("cache_write", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("cost", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("api_ms", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("session_id", "id", name=op.f("pk_usage")),
    )
    op.create_index("ix_usage_day", "usage", ["day"], unique=False)
