"""Tables projected from the logs, in SQLAlchemy Core; tables with data of their own are in `own_tables.py`.

`PROJECTIONS` can be rebuilt at any time. In `tasks`, the rows of people are in no log.
JSON is stored as text: neither database needs to query it, and text may hold
what their JSON types refuse.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

row_number = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows by itself only if the key has exactly its own integer type."""
_zero = text("0")
_nothing = text("''")


def key_column(name: str) -> "Column[str]":
    return Column(name, String(200), primary_key=True)


def text_column(name: str) -> "Column[str]":
    return Column(name, Text, nullable=False, server_default=_nothing)


def count_column(name: str) -> "Column[int]":
    return Column(name, BigInteger, nullable=False, server_default=_zero)


def amount_column(name: str) -> "Column[float]":
    return Column(name, Double, nullable=False, server_default=_zero)


def _flag(name: str) -> "Column[bool]":
    return Column(name, Boolean, nullable=False, server_default=false())


# ---------------------------------------------------------------- made from the logs

sessions = Table(
    "sessions",
    METADATA,
    key_column("id"),
    text_column("title"),
    text_column("cwd"),
    text_column("project"),
    text_column("status"),
    text_column("activity"),
    text_column("engine"),
    text_column("workflow"),
    text_column("model"),
    text_column("parent"),
    amount_column("created_at"),
    amount_column("updated_at"),
    amount_column("ended_at"),
    _flag("archived"),
    _flag("pinned"),
    count_column("waiting"),
    count_column("turns"),
    amount_column("cost"),
    count_column("context"),
    count_column("context_limit"),
    count_column("seq"),
    Column("entry", Text, nullable=False, server_default=_nothing, doc="Id of the last projected entry."),
    Column("turn_seq", BigInteger, doc="Where the last turn began."),
    Column("over_seq", BigInteger, doc="Where the last turn ended."),
    _flag("in_turn"),
    Column("log_size", BigInteger, doc="How much of the log is projected, in bytes, if known."),
    Column("stored", Boolean, nullable=False, server_default=false(), doc="The log was moved to the archive."),
    Column("view", Text, nullable=False, doc="The whole `SessionView`."),
)
Index("ix_sessions_updated_at", sessions.c.updated_at, sessions.c.id)
Index("ix_sessions_project", sessions.c.project, sessions.c.updated_at)

messages = Table(
    "messages",
    METADATA,
    key_column("session_id"),
    key_column("id"),
    Column(
        "seq", BigInteger, nullable=False, doc="Sequence number of its first entry: its position in the transcript."
    ),
    Column("changed", BigInteger, nullable=False, doc="Sequence number of its last entry."),
    Column("kind", String(20), nullable=False),
    amount_column("at"),
    text_column("origin"),
    text_column("agent"),
    text_column("parent_call"),
    Column("model", Text),
    Column("stop", Text),
    Column("usage", Text),
    Column("cost", Double),
    Column("data", Text, doc="Content of rows that are not messages."),
)
Index("ix_messages_seq", messages.c.session_id, messages.c.seq)

parts = Table(
    "parts",
    METADATA,
    key_column("session_id"),
    key_column("message_id"),
    Column("place", BigInteger, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    Column("kind", String(20), nullable=False),
    text_column("text"),
    Column("length", BigInteger, nullable=False, server_default=_zero, doc="Of the whole text; `text` may be cut."),
    Column("call_id", Text),
    Column("media_type", Text),
    _flag("partial"),
)

tool_calls = Table(
    "tool_calls",
    METADATA,
    key_column("session_id"),
    key_column("call_id"),
    Column("message_id", Text),
    Column("name", Text),
    Column("input", Text),
    Column("input_length", BigInteger),
    Column("agent", Text),
    Column("parent_call", Text),
    Column("called_seq", BigInteger),
    Column("called_at", Double),
    Column("started_seq", BigInteger),
    Column("started_at", Double),
    Column("result_seq", BigInteger),
    Column("result_at", Double),
    Column("output", Text),
    Column("output_length", BigInteger),
    Column("display", Text),
    Column("is_error", Boolean),
    Column("denied", Boolean),
    Column("interrupted", Boolean),
    Column("duration_ms", BigInteger),
    Column("day", String(10), doc="Of its last result, or of the call while there is none; in UTC."),
    Column("rev", BigInteger, nullable=False, server_default=_zero, doc="How many results came; the last one counts."),
)
Index("ix_tool_calls_result", tool_calls.c.session_id, tool_calls.c.result_seq)
Index("ix_tool_calls_name", tool_calls.c.name)
Index("ix_tool_calls_day", tool_calls.c.day)

tasks = Table(
    "tasks",
    METADATA,
    Column("id", String(300), primary_key=True),
    Column("session_id", String(200), nullable=False),
    Column("source", String(8), nullable=False, doc="`sdk`: the agent's, made from the log; `user`: a person's."),
    text_column("title"),
    text_column("status"),
    text_column("description"),
    count_column("sort_order"),
    amount_column("updated_at"),
    text_column("by"),
)
Index("ix_tasks_session", tasks.c.session_id, tasks.c.source)

interactions = Table(
    "interactions",
    METADATA,
    key_column("session_id"),
    key_column("id"),
    Column("kind", String(20)),
    Column("call_id", Text),
    Column("tool", Text),
    Column("input", Text),
    Column("input_sha256", Text),
    Column("agent", Text),
    Column("reason", Text),
    Column("description", Text),
    Column("opened_seq", BigInteger),
    Column("opened_at", Double),
    Column("outcome", String(20)),
    Column("by", Text),
    Column("message", Text),
    Column("changed_input", Text),
    Column("closed_seq", BigInteger),
    Column("closed_at", Double),
)
Index("ix_interactions_opened", interactions.c.opened_at)

usage = Table(
    "usage",
    METADATA,
    key_column("session_id"),
    key_column("id"),
    Column("seq", BigInteger, nullable=False),
    amount_column("at"),
    Column("day", String(10), nullable=False, doc="In UTC."),
    text_column("model"),
    text_column("agent"),
    count_column("input"),
    count_column("output"),
    count_column("cache_read"),
    count_column("cache_write"),
    amount_column("cost"),
    count_column("api_ms"),
)
Index("ix_usage_day", usage.c.day)

artifacts = Table(
    "artifacts",
    METADATA,
    key_column("session_id"),
    key_column("id"),
    Column("seq", BigInteger, nullable=False),
    amount_column("at"),
    text_column("kind"),
    text_column("title"),
    text_column("text"),
    text_column("call_id"),
)

inventory_table = Table(
    "surroundings",
    METADATA,
    key_column("session_id"),
    Column("seq", BigInteger, nullable=False),
    amount_column("at"),
    Column("data", Text, nullable=False, doc="The last inventory that an external engine reported."),
)

documents = Table(
    "documents",
    METADATA,
    Column("id", row_number, primary_key=True, autoincrement=True),
    Column("session_id", String(200), nullable=False),
    Column("kind", String(20), nullable=False, doc="What is searched: `title`, `text`, `thinking`, `call`, `result`."),
    Column("ref", String(300), nullable=False, doc="Which one of that kind."),
    Column("seq", BigInteger, nullable=False),
    amount_column("at"),
    Column(
        "words", Text, nullable=False, doc="Searchable text, see `search_terms.py`; the original is in its own table."
    ),
    UniqueConstraint("session_id", "kind", "ref"),
)
Index("ix_documents_at", documents.c.at, documents.c.id)

PROJECTIONS: tuple[Table, ...] = (
    sessions,
    messages,
    parts,
    tool_calls,
    interactions,
    usage,
    artifacts,
    inventory_table,
    documents,
)
"""Cleared by a rebuild, together with the agents' rows in `tasks`."""
