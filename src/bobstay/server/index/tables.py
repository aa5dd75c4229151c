"""All tables of the server, as SQLAlchemy Core sees them. Other packages add theirs to `METADATA`.

`PROJECTIONS` are made from the logs and can be made anew at any time; all others hold what is nowhere else. Of `tasks`
only the rows of people are of the second kind. JSON is kept as text: neither database need look into it, and a text may
hold what a JSON type of theirs refuses.
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

_Number = BigInteger().with_variant(Integer, "sqlite")
"""SQLite gives numbers by itself to a key of exactly its own type only."""
_zero = text("0")
_nothing = text("''")


def _key(name: str) -> "Column[str]":
    return Column(name, String(200), primary_key=True)


def _words(name: str) -> "Column[str]":
    return Column(name, Text, nullable=False, server_default=_nothing)


def _count(name: str) -> "Column[int]":
    return Column(name, BigInteger, nullable=False, server_default=_zero)


def _amount(name: str) -> "Column[float]":
    return Column(name, Double, nullable=False, server_default=_zero)


def _flag(name: str) -> "Column[bool]":
    return Column(name, Boolean, nullable=False, server_default=false())


# ---------------------------------------------------------------- made from the logs

sessions = Table(
    "sessions",
    METADATA,
    _key("id"),
    _words("title"),
    _words("cwd"),
    _words("project"),
    _words("status"),
    _words("activity"),
    _words("engine"),
    _words("workflow"),
    _words("model"),
    _words("parent"),
    _amount("created_at"),
    _amount("updated_at"),
    _amount("ended_at"),
    _flag("archived"),
    _flag("pinned"),
    _count("waiting"),
    _count("turns"),
    _amount("cost"),
    _count("context"),
    _count("context_limit"),
    _count("seq"),
    Column("entry", Text, nullable=False, server_default=_nothing, doc="Id of the last entry taken in."),
    Column("turn_seq", BigInteger, doc="Where the last turn began."),
    Column("over_seq", BigInteger, doc="Where the last turn ended."),
    _flag("in_turn"),
    Column("log_size", BigInteger, doc="How much of the log is taken in, in bytes, where that is known."),
    Column("stored", Boolean, nullable=False, server_default=false(), doc="The log was moved to the archive."),
    Column("view", Text, nullable=False, doc="The whole `SessionView`."),
)
Index("ix_sessions_updated_at", sessions.c.updated_at, sessions.c.id)
Index("ix_sessions_project", sessions.c.project, sessions.c.updated_at)

messages = Table(
    "messages",
    METADATA,
    _key("session_id"),
    _key("id"),
    Column("seq", BigInteger, nullable=False, doc="Where its first entry is: its place in the transcript."),
    Column("changed", BigInteger, nullable=False, doc="Where its last entry is."),
    Column("kind", String(20), nullable=False),
    _amount("at"),
    _words("origin"),
    _words("agent"),
    _words("parent_call"),
    Column("model", Text),
    Column("stop", Text),
    Column("usage", Text),
    Column("cost", Double),
    Column("data", Text, doc="What rows of other kinds than talk say."),
)
Index("ix_messages_seq", messages.c.session_id, messages.c.seq)

parts = Table(
    "parts",
    METADATA,
    _key("session_id"),
    _key("message_id"),
    Column("place", BigInteger, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    Column("kind", String(20), nullable=False),
    _words("text"),
    Column("length", BigInteger, nullable=False, server_default=_zero, doc="Of the whole text; `text` may be cut."),
    Column("call_id", Text),
    Column("media_type", Text),
    _flag("partial"),
)

tool_calls = Table(
    "tool_calls",
    METADATA,
    _key("session_id"),
    _key("call_id"),
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
    _words("title"),
    _words("status"),
    _words("description"),
    _count("sort_order"),
    _amount("updated_at"),
    _words("by"),
)
Index("ix_tasks_session", tasks.c.session_id, tasks.c.source)

interactions = Table(
    "interactions",
    METADATA,
    _key("session_id"),
    _key("id"),
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
    _key("session_id"),
    _key("id"),
    Column("seq", BigInteger, nullable=False),
    _amount("at"),
    Column("day", String(10), nullable=False, doc="In UTC."),
    _words("model"),
    _words("agent"),
    _count("input"),
    _count("output"),
    _count("cache_read"),
    _count("cache_write"),
    _amount("cost"),
    _count("api_ms"),
)
Index("ix_usage_day", usage.c.day)

artifacts = Table(
    "artifacts",
    METADATA,
    _key("session_id"),
    _key("id"),
    Column("seq", BigInteger, nullable=False),
    _amount("at"),
    _words("kind"),
    _words("title"),
    _words("text"),
    _words("call_id"),
)

surroundings = Table(
    "surroundings",
    METADATA,
    _key("session_id"),
    Column("seq", BigInteger, nullable=False),
    _amount("at"),
    Column("data", Text, nullable=False, doc="What an external engine said last was around it."),
)

documents = Table(
    "documents",
    METADATA,
    Column("id", _Number, primary_key=True, autoincrement=True),
    Column("session_id", String(200), nullable=False),
    Column("kind", String(20), nullable=False, doc="What is searched: `title`, `text`, `thinking`, `call`, `result`."),
    Column("ref", String(300), nullable=False, doc="Which one of that kind."),
    Column("seq", BigInteger, nullable=False),
    _amount("at"),
    Column("words", Text, nullable=False, doc="Plain words, see `words.py`; what was said is in the table it is of."),
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
    surroundings,
    documents,
)
"""Emptied by a rebuild, together with the agents' rows of `tasks`."""

# ---------------------------------------------------------------- nobody's projection

recent_dirs = Table(
    "recent_dirs",
    METADATA,
    Column("path", String(2000), primary_key=True),
    _amount("used_at"),
    _count("uses"),
)

idempotency = Table(
    "idempotency",
    METADATA,
    _key("who"),
    _key("key"),
    Column("fingerprint", String(64), nullable=False, doc="Of the request: one key is good for one request."),
    _amount("at"),
    Column("status", Integer, doc="Empty while the first request still runs."),
    Column("body", Text),
)
Index("ix_idempotency_at", idempotency.c.at)

audit = Table(
    "audit",
    METADATA,
    Column("id", _Number, primary_key=True, autoincrement=True),
    _amount("at"),
    _words("who"),
    _words("what"),
    _words("session_id"),
    Column("detail", Text, nullable=False, server_default=text("'{}'")),
)
Index("ix_audit_session", audit.c.session_id, audit.c.id)

session_env = Table(
    "session_env",
    METADATA,
    _key("session_id"),
    _key("name"),
    _words("value"),
)

push_subscriptions = Table(
    "push_subscriptions",
    METADATA,
    _key("id"),
    _words("who"),
    Column("endpoint", String(2000), nullable=False),
    _words("keys"),
    _amount("created_at"),
    Column("client", Text, nullable=False, server_default=_nothing, doc="Of the doors: it goes when that is revoked."),
    _words("label"),
    Column("completed", Boolean, nullable=False, server_default=false(), doc="Wants to hear of work that is done."),
    UniqueConstraint("endpoint"),
)

settings = Table(
    "settings",
    METADATA,
    _key("name"),
    _words("value"),
    _amount("updated_at"),
    _words("by"),
)
