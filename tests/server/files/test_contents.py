"""Listings, text files, byte ranges, and file names of any kind."""

import base64
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.server.errors import ApiError
from bobstay.server.files.path_completion import rank, with_folders
from bobstay.server.files.path_names import decode_path, encode_path, split_path
from bobstay.server.files.range_response import MOST_AT_ONCE
from bobstay.server.files.text_content import MOST_BINARY, MOST_TEXT, decode_text, detect_newline
from tests.kit.repositories import repository
from tests.server.files.files_host import FilesHost

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


async def test_a_directory_is_listed_with_directories_first(host: FilesHost) -> None:
    """S000-69: the file explorer's tree."""
    for name in ("beta", "Alpha"):
        (host.work / name).mkdir()
    (host.work / "b.txt").write_text("12345")
    (host.work / "A.txt").write_text("")
    session = host.session()
    found = (await host.get(f"/sessions/{session.id}/files")).json

    assert [entry["name"] for entry in found["entries"]] == ["Alpha", "beta", "A.txt", "b.txt"]
    assert [entry["kind"] for entry in found["entries"]] == ["directory", "directory", "file", "file"]
    assert found["entries"][3]["size"] == 5
    assert found["entries"][3]["modified"] > 1_600_000_000
    assert (found["total"], found["truncated"]) == (4, False)


async def test_a_large_directory_is_cut_and_says_so(host: FilesHost) -> None:
    for number in range(50):
        (host.work / f"file{number:02}").touch()
    session = host.session()
    found = (await host.get(f"/sessions/{session.id}/files", limit=10)).json

    assert [entry["name"] for entry in found["entries"]] == [f"file{number:02}" for number in range(10)]
    assert (found["total"], found["truncated"]) == (50, True)
    for limit in (0, -1, 10_001, "x"):
        assert (await host.get(f"/sessions/{session.id}/files", limit=limit)).status == 422


async def test_what_git_ignores_is_marked(host: FilesHost) -> None:
    repository(host.work, **{".gitignore": "*.log\nbuild/\n", "kept": ""})
    (host.work / "build").mkdir()
    (host.work / "noise.log").touch()
    session = host.session()
    found = (await host.get(f"/sessions/{session.id}/files")).json

    ignored = {entry["name"] for entry in found["entries"] if entry.get("ignored")}
    assert ignored == {"build", "noise.log"}


@pytest.mark.parametrize(
    "name", [b"bad\xff\xfename", b"back\\slash", b"new\nline", b"\\xff", "ä".encode(), b"-rf", b" "]
)
async def test_a_file_of_any_name_is_listed_and_read(host: FilesHost, name: bytes) -> None:
    """The name that is listed is the one that is asked for."""
    with open(os.path.join(os.fsencode(host.work), name), "wb") as file:
        file.write(b"found")
    session = host.session()
    entry = (await host.get(f"/sessions/{session.id}/files")).json["entries"][0]

    assert (await host.get(f"/sessions/{session.id}/file", path=entry["path"])).json["text"] == "found"


@pytest.mark.parametrize(
    ("data", "text", "encoding", "bom", "newline"),
    [
        (b"one\ntwo\n", "one\ntwo\n", "utf-8", False, "lf"),
        (b"one\r\ntwo\r\n", "one\r\ntwo\r\n", "utf-8", False, "crlf"),
        (b"one\rtwo", "one\rtwo", "utf-8", False, "cr"),
        (b"one\r\ntwo\n", "one\r\ntwo\n", "utf-8", False, "mixed"),
        (b"\xef\xbb\xbfone", "one", "utf-8", True, "none"),
        ("äh\n".encode("utf-16"), "äh\n", "utf-16-le", True, "lf"),
        (b"\xe4h", "äh", "latin-1", False, "none"),
        (b"", "", "utf-8", False, "none"),
    ],
)
async def test_text_comes_with_its_encoding_and_line_ends(
    host: FilesHost, data: bytes, text: str, encoding: str, bom: bool, newline: str
) -> None:
    (host.work / "file").write_bytes(data)
    found = (await host.get(f"/sessions/{host.session().id}/file", path="file")).json

    assert (found["kind"], found.get("text", ""), found["size"]) == ("text", text, len(data))
    assert (found["encoding"], found.get("bom", False), found.get("newline", "none")) == (encoding, bom, newline)


async def test_bytes_that_are_no_text_come_as_base64_if_they_are_few(host: FilesHost) -> None:
    (host.work / "small").write_bytes(PNG)
    (host.work / "large").write_bytes(bytes(MOST_BINARY + 1))
    session = host.session()
    small = (await host.get(f"/sessions/{session.id}/file", path="small")).json
    large = (await host.get(f"/sessions/{session.id}/file", path="large")).json

    assert (small["kind"], small["media_type"]) == ("binary", "image/png")
    assert base64.b64decode(small["base64"]) == PNG
    assert (large["kind"], large["truncated"], large.get("base64")) == ("binary", True, None)


async def test_a_long_text_is_cut_between_characters(host: FilesHost) -> None:
    """FM-57: no answer grows with the file."""
    (host.work / "long").write_text("x" + "ä" * MOST_TEXT)
    found = (await host.get(f"/sessions/{host.session().id}/file", path="long")).json

    assert found["truncated"]
    assert found["size"] == 2 * MOST_TEXT + 1
    assert set(found["text"][1:]) == {"ä"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("page.html", b"<script>alert(1)</script>"),
        ("picture.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
        ("fake.png", b"<html><script>alert(1)</script>"),
        ("x.xml", b"<?xml version='1.0'?><x/>"),
        ("run.js", b"alert(1)"),
    ],
)
async def test_nothing_a_browser_would_run_is_served_as_such(host: FilesHost, name: str, content: bytes) -> None:
    """FM-51: HTML and SVG come as plain text, as an attachment, unsniffed and without rights."""
    (host.work / name).write_bytes(content)
    reply = await host.get(f"/sessions/{host.session().id}/file/raw", path=name)

    assert reply.body == content
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["content-disposition"].startswith("attachment;")
    assert "sandbox" in reply.headers["content-security-policy"]


async def test_a_hostile_name_does_not_get_into_a_header(host: FilesHost) -> None:
    name = 'a"\r\nset-cookie: x=1;\u202e.txt'
    (host.work / name).write_text("x")
    reply = await host.get(f"/sessions/{host.session().id}/file/raw", path=name)

    assert reply.status == 200
    assert "set-cookie" not in reply.headers
    assert '"' not in reply.headers["content-disposition"]


@pytest.mark.parametrize(
    ("asked", "status", "body"),
    [
        ("bytes=0-3", 206, b"0123"),
        ("bytes=4-", 206, b"456789"),
        ("bytes=-2", 206, b"89"),
        ("bytes=-100", 206, b"0123456789"),
        ("bytes=8-100", 206, b"89"),
        ("bytes=10-", 416, None),
        ("bytes=-0", 416, None),
        ("bytes=3-1", 200, b"0123456789"),
        ("bytes=0-1,3-4", 200, b"0123456789"),
        ("bytes=-", 200, b"0123456789"),
        ("lines=1-2", 200, b"0123456789"),
        ("bytes=" + "9" * 40 + "-", 200, b"0123456789"),
    ],
)
async def test_any_part_of_a_file_can_be_asked_for(
    host: FilesHost, asked: str, status: int, body: bytes | None
) -> None:
    (host.work / "digits").write_bytes(b"0123456789")
    reply = await host.get(f"/sessions/{host.session().id}/file/raw", {"range": asked}, path="digits")

    assert reply.status == status
    if body is None:
        assert reply.code == "range_not_satisfiable"
    else:
        assert reply.body == body
    if status == 206 and body:
        start = b"0123456789".index(body)
        assert reply.headers["content-range"] == f"bytes {start}-{start + len(body) - 1}/10"


async def test_a_file_larger_than_memory_is_streamed_and_ranges_are_bounded(host: FilesHost) -> None:
    """FM-58: a gigabyte on the disk (of nothing, here) is never a gigabyte here."""
    with open(host.work / "huge", "wb") as file:
        file.truncate(1 << 30)
    session = host.session()
    part = await host.get(f"/sessions/{session.id}/file/raw", {"range": "bytes=100-"}, path="huge")
    text = await host.get(f"/sessions/{session.id}/file", path="huge")

    assert (part.status, len(part.body)) == (206, MOST_AT_ONCE)
    assert part.headers["content-range"] == f"bytes 100-{99 + MOST_AT_ONCE}/{1 << 30}"
    assert text.json["size"] == 1 << 30
    assert len(text.body) < 1000


async def test_a_file_beyond_one_answer_comes_whole_in_pieces(host: FilesHost) -> None:
    content = os.urandom(MOST_AT_ONCE + 12345)
    (host.work / "large").write_bytes(content)

    assert (await host.get(f"/sessions/{host.session().id}/file/raw", path="large")).body == content


async def test_names_are_completed_from_what_git_knows(host: FilesHost) -> None:
    repository(host.work, **{".gitignore": "*.log\n", "main.py": "", "server.log": ""})
    (host.work / "src" / "server").mkdir(parents=True)
    (host.work / "src" / "server" / "terminal_socket.py").touch()
    session = host.session()

    async def completed(letters: str) -> list[str]:
        return list((await host.get(f"/sessions/{session.id}/complete", q=letters)).json["paths"])

    assert (await completed("tsock"))[0] == "src/server/terminal_socket.py"
    assert (await completed("main.py"))[0] == "main.py"
    assert (await completed("serv"))[0] == "src/server/"
    assert await completed("server.log") == []
    assert await completed("zzzz") == []
    assert "main.py" in await completed("")


async def test_names_are_completed_without_a_repository_too(host: FilesHost) -> None:
    (host.work / "notes").mkdir()
    (host.work / "notes" / "todo.md").touch()
    (host.work / "link").symlink_to(host.outside)
    (host.outside / "todo-outside").touch()
    session = host.session()

    assert (await host.get(f"/sessions/{session.id}/complete", q="todo")).json["paths"] == ["notes/todo.md"]


async def test_an_unknown_session_or_a_directory_that_is_gone_is_said_so(host: FilesHost) -> None:
    session = host.session()
    host.work.rmdir()

    for path in ("files", "file", "file/raw", "complete", "diff"):
        for id in (session.id, "unknown", "..%2f..", "x" * 500):
            reply = await host.get(f"/sessions/{id}/{path}", path="x")
            assert (reply.status, reply.code) == (404, "not_found")


def test_the_better_a_name_fits_the_further_up_it_stands() -> None:
    assert rank(b"ab", [b"b/a", b"a/b", b"ab", b"xaxb"], 3) == [b"ab", b"xaxb", b"a/b"]
    assert with_folders([b"a/b/c", b"a/d"]) == [b"a/b/", b"a/", b"a/b/c", b"a/d"]


@given(st.binary(max_size=200).filter(lambda name: b"\0" not in name))
def test_every_name_survives_being_shown(name: bytes) -> None:
    text = encode_path(name)
    text.encode()

    assert decode_path(text) == name


@given(st.text(max_size=200))
def test_no_text_makes_a_path_that_leads_out(text: str) -> None:
    try:
        parts = split_path(text)
    except ApiError:
        return
    assert not {b"", b".", b".."} & set(parts)
    assert all(b"/" not in part and b"\0" not in part for part in parts)


@given(st.text(max_size=300), st.sampled_from(["utf-8", "utf-16", "utf-32", "utf-8-sig"]))
def test_text_is_read_as_it_was_written(text: str, encoding: str) -> None:
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError:
        return
    found = decode_text(data)
    if found is None:
        assert b"\0" in data
    elif not text.startswith("\ufeff"):
        assert found.text == text


@given(st.binary(max_size=300))
def test_any_bytes_are_text_or_not_but_never_an_error(data: bytes) -> None:
    for whole in (True, False):
        found = decode_text(data, whole=whole)
        assert found is None or detect_newline(found.text) == found.newline
