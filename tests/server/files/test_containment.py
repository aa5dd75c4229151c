"""Nobody sees more than the session's directory through the console, whatever they ask for (FM-53)."""

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bobstay.server.errors import ApiError
from bobstay.server.files import confined_open
from bobstay.server.files.session_directory import AllowedRoots, allowed, look
from tests.deadline import DEADLINE
from tests.server.files.shelf import Shelf

Reach = Callable[[int, Sequence[bytes]], int]
SECRET = b"a secret outside"
REACHES = [
    pytest.param(confined_open.reach_in_one, id="openat2"),
    pytest.param(confined_open.reach_by_steps, id="steps"),
]


@pytest.fixture(params=[True, False], ids=["openat2", "steps"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of opening: the kernel's, and ours for kernels that have none."""
    if request.param and not confined_open._has_openat2():
        pytest.skip("this kernel has no openat2")
    monkeypatch.setattr(confined_open, "_has_openat2", lambda: request.param)


async def refused(shelf: Shelf, session_id: str, query: bytes) -> str:
    """Ask for a file in three ways; the code of the refusal, which is the same for all."""
    codes = set()
    for path in ("file", "file/raw", "files"):
        reply = await shelf.ask("GET", f"/sessions/{session_id}/{path}", query)
        assert SECRET not in reply.body
        assert reply.status in (400, 403, 404, 422), (path, reply.status, reply.body)
        codes.add(reply.code)
    assert len(codes) == 1
    return codes.pop()


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (b"path=../outside/secret", "invalid"),
        (b"path=%2e%2e/outside/secret", "invalid"),
        (b"path=%2e%2e%2foutside%2fsecret", "invalid"),
        (b"path=sub/../../outside/secret", "invalid"),
        (b"path=..%5c..%5coutside%5csecret", "not_found"),
        (b"path=%252e%252e/outside/secret", "not_found"),
        (b"path=%5cx2e%5cx2e/outside/secret", "not_found"),
        (b"path=/etc/passwd", "invalid"),
        (b"path=//etc/passwd", "invalid"),
        (b"path=secret%00.txt", "invalid"),
        (b"path=" + b"a" * 5000, "invalid"),
        (b"path=" + b"a/" * 2500, "invalid"),
        (b"path=" + b"a" * 300, "not_found"),
        (b"path=%ff%fe", "not_found"),
    ],
)
async def test_no_spelling_of_a_path_leads_out(shelf: Shelf, query: bytes, code: str, either: None) -> None:
    """FM-53: `..`, `%2e%2e`, absolute, NUL."""
    (shelf.root / "outside").mkdir()
    (shelf.root / "outside" / "secret").write_bytes(SECRET)
    (shelf.work / "sub").mkdir()
    session = shelf.session()

    assert await refused(shelf, session.id, query) == code


async def test_a_symbolic_link_is_followed_nowhere(shelf: Shelf, either: None) -> None:
    """FM-53: a link as the file, as a directory on the way, to a file inside as well as out."""
    (shelf.outside / "secret").write_bytes(SECRET)
    (shelf.work / "leaf").symlink_to(shelf.outside / "secret")
    (shelf.work / "parent").symlink_to(shelf.outside)
    (shelf.work / "real").write_text("inside")
    (shelf.work / "near").symlink_to("real")
    session = shelf.session()

    for path in (b"leaf", b"parent/secret", b"parent", b"near"):
        assert await refused(shelf, session.id, b"path=" + path) == "forbidden"
    listing = (await shelf.get(f"/sessions/{session.id}/files")).json
    assert {entry["name"]: entry["kind"] for entry in listing["entries"]} == {
        "leaf": "link",
        "near": "link",
        "parent": "link",
        "real": "file",
    }


async def test_a_directory_whose_name_only_begins_like_the_root_is_outside(shelf: Shelf) -> None:
    """FM-53: `/root-evil` is not inside `/root`."""
    evil = Path(f"{shelf.root}-evil")
    evil.mkdir()
    (evil / "secret").write_bytes(SECRET)

    assert await refused(shelf, shelf.session(evil).id, b"path=secret") == "forbidden"
    with pytest.raises(ApiError) as error:
        allowed(str(evil), AllowedRoots((str(shelf.root),)))
    assert error.value.problem.code == "forbidden"


async def test_a_session_directory_that_became_a_link_is_judged_by_where_it_leads(shelf: Shelf) -> None:
    """FM-53: an agent may exchange its own directory for a link."""
    (shelf.outside / "secret").write_bytes(SECRET)
    session = shelf.session()
    shelf.work.rmdir()
    shelf.work.symlink_to(shelf.outside)

    assert await refused(shelf, session.id, b"path=secret") == "forbidden"


async def test_pipes_sockets_and_devices_are_refused_without_waiting(shelf: Shelf, either: None) -> None:
    """FM-53: opening a pipe would wait for its other end, opening a device may do anything."""
    os.mkfifo(shelf.work / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.getcwd()
        os.chdir(shelf.work)
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
        session = shelf.session()
        for path in (b"pipe", b"socket"):
            assert await refused_content(shelf, session.id, path) == "forbidden"


async def refused_content(shelf: Shelf, session_id: str, path: bytes) -> str:
    reply = await shelf.ask("GET", f"/sessions/{session_id}/file", b"path=" + path)
    raw = await shelf.ask("GET", f"/sessions/{session_id}/file/raw", b"path=" + path)
    assert reply.code == raw.code
    return reply.code


@pytest.mark.parametrize("parts", [(b"proc", b"self", b"environ"), (b"sys", b"kernel", b"notes"), (b"dev", b"zero")])
@pytest.mark.parametrize("reach", REACHES)
def test_files_of_the_kernel_are_no_files_of_a_project(
    parts: tuple[bytes, ...], reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FM-53: `/proc/self/environ` would show the server's keys, were `/` a root."""
    monkeypatch.setattr(confined_open, "_has_openat2", lambda: reach is confined_open.reach_in_one)
    top = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(ApiError) as error, confined_open.opened(top, parts):
            pass
        assert error.value.problem.code in ("forbidden", "not_found")
    finally:
        os.close(top)
    with (
        pytest.raises(ApiError) as error,
        look("/", AllowedRoots(("/",))) as place,
        place.file(b"/".join(parts).decode()),
    ):
        pass
    assert error.value.problem.code == "forbidden"


@pytest.mark.parametrize("reach", REACHES)
def test_a_race_of_exchanging_directories_and_links_never_leads_out(
    shelf: Shelf, reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FM-53, swap race: while `door` is now a directory and now a link, what is read is only ever from inside."""
    monkeypatch.setattr(confined_open, "_has_openat2", lambda: reach is confined_open.reach_in_one)
    (shelf.outside / "file").write_bytes(SECRET)
    (shelf.work / "inside").mkdir()
    (shelf.work / "inside" / "file").write_bytes(b"inside")
    link = shelf.work / "link"
    link.symlink_to(shelf.outside)
    door, away = str(shelf.work / "door"), str(shelf.work / "away")
    os.rename(shelf.work / "inside", door)
    ended = threading.Event()

    def exchange() -> None:
        while not ended.is_set():
            os.rename(door, away)
            os.rename(link, door)
            os.rename(door, link)
            os.rename(away, door)

    thread = threading.Thread(target=exchange)
    thread.start()
    outcomes: dict[str, int] = {}
    try:
        with look(str(shelf.work), AllowedRoots((str(shelf.root),))) as place:
            deadline = time.monotonic() + DEADLINE
            while len(outcomes.keys() & {"read", "forbidden"}) < 2 or sum(outcomes.values()) < 3_000:
                assert time.monotonic() < deadline, f"the race was never met, so nothing was shown: {outcomes}"
                try:
                    with place.file("door/file") as handle:
                        found = os.read(handle, 100)
                except ApiError as error:
                    outcomes[error.problem.code] = outcomes.get(error.problem.code, 0) + 1
                else:
                    assert found == b"inside"
                    outcomes["read"] = outcomes.get("read", 0) + 1
    finally:
        ended.set()
        thread.join()


async def test_the_servers_own_files_are_not_shown(shelf: Shelf) -> None:
    """FM-55: a session in the root above them does not lead to tokens and logs; work trees below are no secret."""
    state = shelf.root / "bobstay" / "server"
    state.mkdir(parents=True)
    (state / "token").write_bytes(SECRET)
    tree = shelf.root / "bobstay" / "worktrees" / "project-1"
    tree.mkdir(parents=True)
    (tree / "file").write_text("fine")
    session = shelf.session(shelf.root)

    for path in (b"bobstay/server/token", b"bobstay/server", b"bobstay", b"bobstay/sessions"):
        assert await refused(shelf, session.id, b"path=" + path) == "forbidden"
    names = {entry["name"] for entry in (await shelf.get(f"/sessions/{session.id}/files")).json["entries"]}
    assert "bobstay" not in names
    assert b"token" not in (await shelf.get(f"/sessions/{session.id}/complete", q="token")).body
    inner = shelf.session(tree)
    assert (await shelf.get(f"/sessions/{inner.id}/file", path="file")).json["text"] == "fine"


async def test_names_are_completed_before_there_is_a_session_only_where_one_may_be(shelf: Shelf) -> None:
    """FM-53."""
    project = shelf.root / "project"
    project.mkdir(exist_ok=True)
    (project / "cart.py").write_text("")
    found = await shelf.get("/complete", cwd=str(project), q="cart")
    assert found.json["paths"] == ["cart.py"]
    for cwd in ("/etc", f"{project}/../..", "relative", "/nowhere/at/all", "/proc/self/cwd"):
        assert (await shelf.get("/complete", cwd=cwd, q="pass")).status in (403, 404, 422)


async def test_directories_to_begin_in_are_those_below_the_roots(shelf: Shelf) -> None:
    (shelf.root / "alpha").mkdir()
    (shelf.root / "alpine").mkdir()
    (shelf.root / "alto").symlink_to(shelf.outside)
    (shelf.root / "alfile").write_text("")

    async def offered(prefix: str) -> list[str]:
        return list((await shelf.get("/directories", prefix=prefix)).json["directories"])

    assert await offered("") == [str(shelf.root)]
    assert await offered(str(shelf.root)[:-2]) == [str(shelf.root)]
    assert await offered(f"{shelf.root}/al") == [str(shelf.root / "alpha"), str(shelf.root / "alpine")]
    assert f"{shelf.root}/bobstay" not in await offered(f"{shelf.root}/")
    for prefix in ("/et", f"{shelf.root}/../out", "relative", "/\0", f"{shelf.outside}/", "/proc/"):
        assert await offered(prefix) == []


@pytest.mark.parametrize("path", ["", "relative", "/a\0b", "/" + "a/" * 3000])
def test_no_directory_is_no_directory(path: str, tmp_path: Path) -> None:
    with pytest.raises(ApiError):
        allowed(path, AllowedRoots((str(tmp_path),)))


def test_outside_the_roots_nothing_is_said_of_what_exists(tmp_path: Path) -> None:
    bounds = AllowedRoots((str(tmp_path),))
    codes = set()
    for path in ("/etc", "/surely/not/there"):
        with pytest.raises(ApiError) as error:
            allowed(path, bounds)
        codes.add(error.value.problem.code)
    assert codes == {"forbidden"}
