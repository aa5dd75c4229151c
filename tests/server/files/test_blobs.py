"""Long outputs of tools, read by range from the saved file or from the log."""

import hashlib
import tracemalloc
from pathlib import Path

import pytest

from bobstay.model.event import ToolDone
from bobstay.model.message import Text, ToolReply
from bobstay.server.files.output_blobs import HEAD, TAIL
from bobstay.server.files.range_response import MOST_AT_ONCE
from bobstay.tools.output_limit import limit_output
from tests.server.files.files_host import FilesHost

CALL = "toolu_01ABC"


def spilled(host: FilesHost, text: str, session_id: str) -> ToolDone:
    """What the toolbox stores for a long output: head and tail, and the whole in a file."""
    folder = Path(host.environment.paths.bobstay, "output", session_id)
    parts, path = limit_output(text, 30_000, folder, CALL)
    assert path
    return ToolDone(ToolReply(CALL, parts))


async def test_a_long_output_is_had_by_range_and_its_ends_at_once(host: FilesHost) -> None:
    """Head, tail, size and SHA-256; the rest by range."""
    text = "".join(f"line {number}\n" for number in range(40_000))
    session = host.session()
    session.append(spilled(host, text, session.id))
    url = f"/sessions/{session.id}/blobs/{CALL}"
    ends = (await host.get(f"{url}/summary")).json
    part = await host.get(url, {"range": "bytes=100000-100099"})

    assert ends["size"] == len(text)
    assert ends["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert (ends["head"], ends["tail"]) == (text[:HEAD], text[-TAIL:])
    assert ends["whole"]
    assert (part.status, part.body) == (206, text[100_000:100_100].encode())
    assert part.headers["x-content-type-options"] == "nosniff"
    assert part.headers["content-type"].startswith("text/plain")
    assert (await host.get(url)).body == text.encode()


async def test_an_output_that_is_whole_in_the_log_comes_from_there(host: FilesHost) -> None:
    """An external engine stores no file: its answer is in the log."""
    text = "ä" * 100_000
    session = host.session()
    session.append(ToolDone(ToolReply(CALL, (Text(text),))))
    url = f"/sessions/{session.id}/blobs/{CALL}"

    assert (await host.get(f"{url}/summary")).json["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert (await host.get(url, {"range": "bytes=-2"})).body == "ä".encode()


async def test_the_last_answer_counts(host: FilesHost) -> None:
    """S002-11."""
    session = host.session()
    for text in ("first", "second"):
        session.append(ToolDone(ToolReply(CALL, (Text(text),))))

    assert (await host.get(f"/sessions/{session.id}/blobs/{CALL}")).body == b"second"


async def test_a_file_that_was_removed_leaves_what_the_model_saw(host: FilesHost) -> None:
    session = host.session()
    session.append(spilled(host, "x" * 100_000, session.id))
    for file in Path(host.environment.paths.bobstay, "output", session.id).iterdir():
        file.unlink()
    ends = (await host.get(f"/sessions/{session.id}/blobs/{CALL}/summary")).json

    assert not ends["whole"]
    assert "left out here" in ends["head"]


async def test_a_gigabyte_is_never_in_memory(host: FilesHost) -> None:
    """FM-58, FM-57: the digest and any part are read piece by piece."""
    session = host.session()
    done = spilled(host, "x" * 100_000, session.id)
    session.append(done)
    (file,) = Path(host.environment.paths.bobstay, "output", session.id).iterdir()
    with open(file, "r+b") as writing:
        writing.truncate(1 << 28)
    url = f"/sessions/{session.id}/blobs/{CALL}"
    tracemalloc.start()
    try:
        ends = await host.get(f"{url}/summary")
        part = await host.get(url, {"range": "bytes=0-"})
        highest = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert ends.json["size"] == 1 << 28
    assert len(ends.body) < 6 * (HEAD + TAIL) + 1000
    assert len(part.body) == MOST_AT_ONCE
    assert highest < 8 * MOST_AT_ONCE


@pytest.mark.parametrize("name", ["../../secret.txt", "link.txt", "../other/file.txt"])
async def test_an_answer_that_names_another_file_does_not_get_it(host: FilesHost, name: str) -> None:
    """FM-53: what a tool printed is no proof of where its output is."""
    session = host.session()
    folder = Path(host.environment.paths.bobstay, "output", session.id)
    folder.mkdir(parents=True)
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / "file.txt").write_text("secret")
    (folder.parent.parent / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(folder.parent.parent / "secret.txt")
    messages = f"The whole output is in {folder}/{name}: read it"
    session.append(ToolDone(ToolReply(CALL, (Text(messages),))))

    assert (await host.get(f"/sessions/{session.id}/blobs/{CALL}")).body == messages.encode()


@pytest.mark.parametrize("call", ["toolu_other", "x" * 300, "a%00b", "..", "\udcff"])
async def test_a_call_that_never_was_is_not_found(host: FilesHost, call: str) -> None:
    session = host.session()
    session.append(ToolDone(ToolReply(CALL, (Text("x"),))))
    reply = await host.ask("GET", f"/sessions/{session.id}/blobs/{call.encode(errors='replace').decode()}")

    assert (reply.status, reply.code) == (404, "not_found")
