"""Sessions to take away: three formats, no secrets, safe names, bounded memory (FM-56)."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.model.event import Durable, Envelope, Noted, Prompted, SessionStarted
from bobstay.model.message import Text
from bobstay.redaction.redactor import Redactor
from bobstay.server.api.export_routes import CHUNK_BYTES, file_name
from bobstay.server.export.export_entries import branch
from bobstay.server.export.export_markdown import close_fences, fenced
from bobstay.sessions.log_codec import encode
from bobstay.sessions.log_reader import LogReader
from tests.kit.consoles import RunningConsole
from tests.kit.environments import KEY
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer


async def finished(server: RunningConsole, model: ModelServer) -> str:
    prompt = model.play(
        "talk",
        Step(blocks=[Say("I look."), Call("Bash", {"command": "echo ok"}, "b")]),
        Step(blocks=[Say("All is **well**.")]),
    )
    id = await server.launch(f"Look at ``` and # things {prompt}", allowed_tools=["Bash"], title="Fix: the/../bug <b>")
    await server.until_status(id, "completed")
    return id


async def test_markdown_is_the_talk_for_people(server: RunningConsole, model: ModelServer) -> None:
    id = await finished(server, model)
    reply = await server.get(f"/api/v1/sessions/{id}/export?format=md")
    assert reply.headers["content-type"] == "text/markdown; charset=utf-8"
    text = reply.text
    assert text.startswith("# Fix: the/../bug \\<b\\>\n")
    for expected in (
        "## User",
        "Look at ```",
        "I look.",
        "### Bash",
        '"command": "echo ok"',
        "Result:",
        "ok",
        "All is **well**.",
    ):
        assert expected in text
        text = text.partition(expected)[2]


async def test_json_and_lines_hold_the_entries(server: RunningConsole, model: ModelServer) -> None:
    id = await finished(server, model)
    whole = (await server.get(f"/api/v1/sessions/{id}/export?format=json")).json
    lines = [
        json.loads(line) for line in (await server.get(f"/api/v1/sessions/{id}/export?format=jsonl")).text.splitlines()
    ]
    assert whole["session"]["id"] == id
    assert whole["events"] == lines
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines[0]["event"]["type"] == "session_started"


@pytest.mark.parametrize("kind", ["md", "json", "jsonl"])
async def test_secrets_stay_here(server: RunningConsole, kind: str) -> None:
    """FM-56: also those that came into a log by another way than the tools, such as a person's own words."""
    id = await server.launch("", title=f"key {KEY}")
    session = server.registry.open(id)
    session.record(Noted(f"the key is {KEY} and ghp_{'a1' * 20}"))
    session.record(Prompted("p", (Text(f"use {KEY}"),)))
    reply = await server.get(f"/api/v1/sessions/{id}/export?format={kind}")
    assert reply.status == 200
    assert KEY not in reply.text
    assert "ghp_a1" not in reply.text
    assert KEY[:12] not in reply.headers["content-disposition"]
    assert "masked" in reply.text


async def test_the_name_of_the_file_is_safe(server: RunningConsole, model: ModelServer) -> None:
    id = await finished(server, model)
    reply = await server.get(f"/api/v1/sessions/{id}/export")
    assert reply.headers["content-disposition"] == f'attachment; filename="fix-the-bug-b-{id[:8]}.md"'


@given(st.text(), st.text(min_size=1))
def test_no_title_makes_an_unsafe_name(title: str, id: str) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,60}\.md", file_name(title, id, "md"))


@given(st.text(alphabet="`~a\n", max_size=200))
def test_a_fence_is_longer_than_any_in_it(text: str) -> None:
    first, *inner, last = fenced(text).split("\n")
    assert first == last
    assert all(not line.startswith(first) for line in inner)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("a\n```\nb", "```"),
        ("~~~~py\n~~~\n", "~~~~"),
        ("```\n```", ""),
        ("```\n``` not an end", "```"),
        ("a ``` b", ""),
    ],
)
def test_a_block_that_was_left_open_swallows_nothing(text: str, end: str) -> None:
    assert close_fences(text) == (f"{text}\n{end}" if end else text)


async def test_what_is_not_there_or_not_known_is_refused(server: RunningConsole) -> None:
    id = await server.launch()
    assert (await server.get("/api/v1/sessions/none/export")).status == 404
    assert (await server.get(f"/api/v1/sessions/{id}/export?format=exe")).status == 422
    approver = await server.token("approve")
    assert (await server.get(f"/api/v1/sessions/{id}/export", headers=approver)).status == 403


def test_branches_that_were_left_are_left_out(tmp_path: Path) -> None:
    """Also where a parent is missing, or an entry claims to follow itself."""
    path = tmp_path / "log.jsonl"
    way = [("a", ""), ("b", "a"), ("left", "a"), ("c", "b"), ("d", "missing"), ("e", "e")]
    events: list[Durable] = [SessionStarted("/", "1"), *(Noted(id) for id, _ in way[1:])]
    path.write_bytes(
        b"".join(encode(Envelope(seq, id, parent, 0.0, events[seq - 1])) for seq, (id, parent) in enumerate(way, 1))
    )
    reader = LogReader(str(path))
    assert [entry.id for entry in branch(reader, Redactor(), 4)] == ["a", "b", "c"]
    assert [entry.id for entry in branch(reader, Redactor(), 6)] == ["a", "b", "c", "d", "e"]


async def test_a_long_session_is_sent_in_pieces(server: RunningConsole) -> None:
    """Memory is bounded: what is sent at once does not grow with the session."""
    id = await server.launch()
    session = server.registry.open(id)
    for _ in range(60):
        session.record(Noted("x" * 30_000))
    from bobstay.server.api.export_routes import _render, _stream

    view = server.view(id)
    reader = server.registry.reader(id).copy()
    pieces = [len(piece) async for piece in _stream(_render("jsonl", reader, Redactor(), view))]
    assert sum(pieces) > 1_800_000
    assert max(pieces) < 2 * CHUNK_BYTES
    assert len(pieces) > 10
    reply = await server.get(f"/api/v1/sessions/{id}/export?format=jsonl")
    assert len(reply.body) == sum(pieces)
