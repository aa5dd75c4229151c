"""Full-text search: both databases give the same hits for any query, with excerpts without markup."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.model.event import BlockDone, Prompted
from bobstay.model.message import Text, Thinking
from bobstay.model.session_events import ArtifactMade, SessionChanged
from bobstay.server.db.full_text_search import search
from bobstay.server.db.search_terms import SEARCHED, excerpt, searchable_text, terms
from bobstay.server.errors import ApiError
from tests.server.db.projected_sessions import OpenProjected, ProjectedSessions


async def found(projected: ProjectedSessions, query: str, session: str = "") -> list[tuple[str, str, int]]:
    await projected.settled()
    return [(hit.session_id, hit.kind, hit.seq) for hit in (await search(projected.database, query, session)).hits]


async def test_everything_that_is_said_and_done_is_found(projected: ProjectedSessions) -> None:
    """S003-44."""
    projected.write(SessionChanged(title="Kraken hunt"), Prompted("p", (Text("fix src/server/app.py, please"),)))
    projected.write(
        BlockDone("m", 0, Thinking("perhaps a deadlock")), BlockDone("m", 1, Text("The lock_file is stale"))
    )
    projected.write(projected.call("c1", command="grep -rn 'walrus' .", message="m", index=2))
    projected.write(
        projected.result("c1", "tests/zebra.py:12: assert fish"), ArtifactMade("a", "plan", "Plan B", "use a heron")
    )
    projected.write(Prompted("p", (Text("another session about a walrus"),)), session="two")
    assert await found(projected, "kraken") == [("one", "title", 1)]
    assert await found(projected, "app.py") == [("one", "text", 3), ("one", "title", 1)]
    assert await found(projected, "server") == await found(projected, "SRC/Server")
    assert await found(projected, "deadlock") == [("one", "thinking", 4)]
    assert await found(projected, "lock file") == [("one", "text", 5)]
    assert await found(projected, "heron plan") == [("one", "artifact", 8)]
    assert await found(projected, "zebr") == [("one", "result", 7)]
    assert {hit[0] for hit in await found(projected, "walrus")} == {"one", "two"}
    assert await found(projected, "walrus", "one") == [("one", "call", 6)]
    assert await found(projected, "walrus heron") == []


async def test_what_every_session_of_a_project_is_told_is_not_searched(projected: ProjectedSessions) -> None:
    projected.write(Prompted("i", (Text("use walrus operators"),), "harness", why="instructions"))
    projected.write(Prompted("m", (Text("a walrus in a file"),), "harness", why="mention"))
    assert await found(projected, "walrus") == [("one", "text", 3)]


async def test_quoted_words_must_stand_together(projected: ProjectedSessions) -> None:
    projected.write(Prompted("p1", (Text("first things first"),)), Prompted("p2", (Text("things come first"),)))
    assert [seq for _, kind, seq in await found(projected, '"things first"') if kind == "text"] == [2]
    assert [seq for _, kind, seq in await found(projected, "things first") if kind == "text"] == [3, 2]
    assert [seq for _, kind, seq in await found(projected, '"come fir"') if kind == "text"] == []


async def test_accents_case_and_ideographs(projected: ProjectedSessions) -> None:
    projected.write(Prompted("p1", (Text("Crème BRÛLÉE in Straße"),)), Prompted("p2", (Text("请修复数据库连接"),)))
    assert [seq for _, kind, seq in await found(projected, "creme brulee strasse") if kind == "text"] == [2]
    assert [seq for _, kind, seq in await found(projected, "数据库") if kind == "text"] == [3]
    assert [seq for _, kind, seq in await found(projected, "据数") if kind == "text"] == []


async def test_what_changed_is_found_by_its_new_words_only(projected: ProjectedSessions) -> None:
    projected.write(projected.call("c1"), projected.result("c1", "alpha"))
    assert len(await found(projected, "alpha")) == 1
    projected.write(projected.result("c1", "omega"))
    assert (await found(projected, "alpha"), len(await found(projected, "omega"))) == ([], 1)
    await projected.database.forget("one")
    assert await found(projected, "omega") == []


async def test_hits_come_in_pages_newest_first(projected: ProjectedSessions) -> None:
    for number in range(7):
        projected.write(Prompted(f"p{number}", (Text("penguin"),)), session=f"s{number}")
    await projected.settled()
    seen: list[tuple[str, str]] = []
    cursor = ""
    for _ in range(20):
        page = await search(projected.database, "penguin", "", cursor, 3)
        seen += [(hit.session_id, hit.kind) for hit in page.hits]
        if page.cursor is None:
            break
        cursor = page.cursor
        assert cursor == quote(cursor), "it goes into an address as it is"
    assert len(seen) == len(set(seen)) == 14
    assert [session for session, kind in seen if kind == "text"] == [f"s{number}" for number in reversed(range(7))]


@pytest.mark.parametrize("cursor", ["x", "0x1p0_", "nan_1", "inf_1", "1_x", "0x1p99999_1", "_" * 50])
async def test_a_cursor_of_somebody_else_is_refused(open_projected: OpenProjected, cursor: str) -> None:
    projected = await open_projected()
    with pytest.raises(ApiError) as caught:
        await search(projected.database, "penguin", "", cursor)
    assert caught.value.problem.code == "invalid"


HOSTILE = [
    "",
    '"',
    '""',
    '"""',
    "' OR 1=1 --",
    "NEAR(a b, 2)",
    "a AND OR NOT",
    "col:words",
    "words : x",
    "^a",
    "a*b*",
    "-a +b",
    "(((",
    "a & | ! <-> b:*",
    "'a':*A",
    "\0",
    "\ud800",
    "%_\\",
    "{a b}:c",
    "🙂",
    "\N{COMBINING ACUTE ACCENT}",
    "x" * 5_000,
    "a " * 2_000,
    '"' + "b " * 400 + '"',
    "ﬁ ½ Ⅷ",
    "\u200b\u202e",
    "to_tsquery('x')",
    ";DROP TABLE documents;",
]


async def test_no_query_is_an_error(projected: ProjectedSessions) -> None:
    projected.write(Prompted("p", (Text("near and or not a b words x col documents 🙂 ½ fi"),)))
    await projected.settled()
    for query in HOSTILE:
        assert isinstance((await search(projected.database, query)).hits, tuple)
    assert len(await found(projected, "documents")) == 2


@given(st.text())
def test_what_is_in_a_text_is_among_its_words(text: str) -> None:
    assert searchable_text(text) == searchable_text(searchable_text(text))
    assert all(word.isalnum() for word in searchable_text(text).split())
    assert sum(len(term.words) for term in terms(text)) <= 16


@given(st.text(max_size=400), st.text(max_size=20), st.integers(1, 300))
def test_marks_are_within_the_excerpt(text: str, query: str, length: int) -> None:
    cut = excerpt(text, terms(query), length)
    assert cut.text in text
    assert all(0 <= start < end <= len(cut.text) for start, end in cut.marks)


def test_an_excerpt_shows_where_and_marks_by_place() -> None:
    text = "start " * 100 + "<b>the Needle</b> & co, needles " + "end " * 200
    cut = excerpt(text, terms("needle"))
    assert [cut.text[start:end] for start, end in cut.marks] == ["Needle", "needles"]
    assert "<b>" in cut.text
    assert (cut.cut_before, cut.cut_after) == (True, True)


async def test_of_a_huge_text_the_beginning_is_found(projected: ProjectedSessions) -> None:
    """PostgreSQL cannot hold the words of more than a megabyte in one place."""
    many = " ".join(f"w{number:x}ö" for number in range(200_000))
    projected.write(Prompted("p", (Text("unicorn " + many),)), projected.call("c"), projected.result("c", many))
    assert len(await found(projected, "unicorn")) == 2
    assert await found(projected, many[SEARCHED * 2 : SEARCHED * 2 + 50].split()[1]) == []
    assert projected.database.health().skipped == 0
