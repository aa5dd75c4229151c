"""Full-text search in the dialects of SQLite and PostgreSQL: index creation and query conditions."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, column, func, literal_column, select, table, text

from bobstay.server.db.projected_tables import documents
from bobstay.server.db.search_terms import Term

NAME = "documents_fts"
"""The virtual table of SQLite, with its shadow tables, and the index of PostgreSQL: not part of `METADATA`."""

_TRIGGERS = {
    "documents_fts_added": """AFTER INSERT ON documents BEGIN
        INSERT INTO documents_fts(rowid, words) VALUES (new.id, new.words); END""",
    "documents_fts_removed": """AFTER DELETE ON documents BEGIN
        INSERT INTO documents_fts(documents_fts, rowid, words) VALUES ('delete', old.id, old.words); END""",
    "documents_fts_changed": """AFTER UPDATE OF words ON documents WHEN old.words <> new.words BEGIN
        INSERT INTO documents_fts(documents_fts, rowid, words) VALUES ('delete', old.id, old.words);
        INSERT INTO documents_fts(rowid, words) VALUES (new.id, new.words); END""",
}


def create_search_index(connection: Connection) -> None:
    """Create the full-text index beside the tables."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("CREATE INDEX documents_fts ON documents USING gin (to_tsvector('simple', words))"))
        return
    connection.execute(
        text(
            "CREATE VIRTUAL TABLE documents_fts USING fts5"
            "(words, content='documents', content_rowid='id', tokenize='unicode61 remove_diacritics 0')"
        )
    )
    _create_triggers(connection)


def delete_documents(connection: Connection) -> None:
    """Delete all documents at once: row by row takes many times longer."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("TRUNCATE documents"))
        return
    for name in _TRIGGERS:
        connection.execute(text(f"DROP TRIGGER {name}"))
    connection.execute(text("INSERT INTO documents_fts(documents_fts) VALUES ('delete-all')"))
    connection.execute(documents.delete())
    _create_triggers(connection)


def _create_triggers(connection: Connection) -> None:
    for name, action in _TRIGGERS.items():
        connection.execute(text(f"CREATE TRIGGER {name} {action}"))


def matches(dialect: str, wanted: tuple[Term, ...]) -> ColumnElement[bool]:
    """The condition that a document matches all of `wanted`."""
    if dialect == "postgresql":
        vector: ColumnElement[Any] = func.to_tsvector(literal_column("'simple'"), documents.c.words)
        query = " & ".join(_for_postgres(term) for term in wanted)
        return vector.bool_op("@@")(func.to_tsquery(literal_column("'simple'"), query))
    found = table(NAME, column("rowid"), column(NAME))
    query = " AND ".join(_for_sqlite(term) for term in wanted)
    return documents.c.id.in_(select(found.c.rowid).where(literal_column(NAME).op("MATCH")(query)))


def _for_postgres(term: Term) -> str:
    words = [f"'{word}'" for word in term.words]
    if term.open_ended:
        words[-1] += ":*"
    return "(" + " <-> ".join(words) + ")"


def _for_sqlite(term: Term) -> str:
    return f'"{" ".join(term.words)}"' + (" *" if term.open_ended else "")
