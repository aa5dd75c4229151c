"""No request gives access to files outside the session's directory (FM-53)."""

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bobstay.server.errors import ApiError
from bobstay.server.files import confined_open
from bobstay.server.files.session_directory import AllowedRoots, open_session_directory, resolve_allowed
from tests.kit.waiting import DEADLINE
from tests.server.files.files_host import FilesHost

Reach = Callable[[int, Sequence[bytes]], int]
SECRET = b"a secret outside"
REACHES = [
    pytest.param(confined_open.open_with_openat2, id="openat2"),
    pytest.param(confined_open.open_stepwise, id="steps"),
]


@pytest.fixture(params=[True, False], ids=["openat2", "steps"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of opening: the kernel's, and ours for kernels that have none."""
    if request.param and not confined_open._has_openat2():
        pytest.skip("this kernel has no openat2")
    monkeypatch.setattr(confined_open, "_has_openat2", lambda: request.param)


async def refused(host: FilesHost, session_id: str, query: bytes) -> str:
    """Ask for a file in three ways; the code of the refusal, which is the same for all."""
    codes = set()
    for path in ("file", "file/raw", "files"):
        reply = await host.ask("GET", f"/sessions/{session_id}/{path}", query)
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
async def test_no_spelling_of_a_path_leads_out(host: FilesHost, query: bytes, code: str, either: None) -> None:
    """FM-53: `..`, `%2e%2e`, absolute, NUL."""
    (host.root / "outside").mkdir()
    (host.root / "outside" / "secret").write_bytes(SECRET)
    (host.work / "sub").mkdir()
    session = host.session()

    assert await refused(host, session.id, query) == code


async def test_a_symbolic_link_is_followed_nowhere(host: FilesHost, either: None) -> None:
    """FM-53: a link as the file, as a directory on the way, to a file inside as well as out."""
    (host.outside / "secret").write_bytes(SECRET)
    (host.work / "leaf").symlink_to(host.outside / "secret")
    (host.work / "parent").symlink_to(host.outside)
    (host.work / "real").write_text("inside")
    (host.work / "near").symlink_to("real")
    session = host.session()

    for path in (b"leaf", b"parent/secret", b"parent", b"near"):
        assert await refused(host, session.id, b"path=" + path) == "forbidden"
    listing = (await host.get(f"/sessions/{session.id}/files")).json
    assert {entry["name"]: entry["kind"] for entry in listing["entries"]} == {
        "leaf": "link",
        "near": "link",
        "parent": "link",
        "real": "file",
    }


async def test_a_directory_whose_name_only_begins_like_the_root_is_outside(host: FilesHost) -> None:
    """FM-53: `/root-evil` is not inside `/root`."""
    evil = Path(f"{host.root}-evil")
    evil.mkdir()
    (evil / "secret").write_bytes(SECRET)

    assert await refused(host, host.session(evil).id, b"path=secret") == "forbidden"
    with pytest.raises(ApiError) as error:
        resolve_allowed(str(evil), AllowedRoots((str(host.root),)))
    assert error.value.problem.code == "forbidden"


async def test_a_session_directory_that_became_a_link_is_judged_by_where_it_leads(host: FilesHost) -> None:
    """FM-53: an agent may exchange its own directory for a link."""
    (host.outside / "secret").write_bytes(SECRET)
    session = host.session()
    host.work.rmdir()
    host.work.symlink_to(host.outside)

    assert await refused(host, session.id, b"path=secret") == "forbidden"


async def test_pipes_sockets_and_devices_are_refused_without_waiting(host: FilesHost, either: None) -> None:
    """FM-53: opening a pipe would wait for its other end, opening a device may do anything."""
    os.mkfifo(host.work / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.getcwd()
        os.chdir(host.work)
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
        session = host.session()
        for path in (b"pipe", b"socket"):
            assert await refused_content(host, session.id, path) == "forbidden"


async def refused_content(host: FilesHost, session_id: str, path: bytes) -> str:
    reply = await host.ask("GET", f"/sessions/{session_id}/file", b"path=" + path)
    raw = await host.ask("GET", f"/sessions/{session_id}/file/raw", b"path=" + path)
    assert reply.code == raw.code
    return reply.code


@pytest.mark.parametrize("parts", [(b"proc", b"self", b"environ"), (b"sys", b"kernel", b"notes"), (b"dev", b"zero")])
@pytest.mark.parametrize("reach", REACHES)
def test_files_of_the_kernel_are_no_files_of_a_project(
    parts: tuple[bytes, ...], reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FM-53: `/proc/self/environ` would show the server's keys, were `/` a root."""
    monkeypatch.setattr(confined_open, "_has_openat2", lambda: reach is confined_open.open_with_openat2)
    top = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(ApiError) as error, confined_open.open_confined(top, parts):
            pass
        assert error.value.problem.code in ("forbidden", "not_found")
    finally:
        os.close(top)
    with (
        pytest.raises(ApiError) as error,
        open_session_directory("/", AllowedRoots(("/",))) as place,
        place.file(b"/".join(parts).decode()),
    ):
        pass
    assert error.value.problem.code == "forbidden"


@pytest.mark.parametrize("reach", REACHES)
def test_a_race_of_exchanging_directories_and_links_never_leads_out(
    host: FilesHost, reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FM-53, swap race: while `door` is now a directory and now a link, what is read is only ever from inside."""
    monkeypatch.setattr(confined_open, "_has_openat2", lambda: reach is confined_open.open_with_openat2)
    (host.outside / "file").write_bytes(SECRET)
    (host.work / "inside").mkdir()
    (host.work / "inside" / "file").write_bytes(b"inside")
    link = host.work / "link"
    link.symlink_to(host.outside)
    door, away = str(host.work / "door"), str(host.work / "away")
    os.rename(host.work / "inside", door)
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
        with open_session_directory(str(host.work), AllowedRoots((str(host.root),))) as place:
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


async def test_the_servers_own_files_are_not_shown(host: FilesHost) -> None:
    """FM-55: a session in the root above them does not lead to tokens and logs; work trees below are no secret."""
    state = host.root / "bobstay" / "server"
    state.mkdir(parents=True)
    (state / "token").write_bytes(SECRET)
    tree = host.root / "bobstay" / "worktrees" / "project-1"
    tree.mkdir(parents=True)
    (tree / "file").write_text("fine")
    session = host.session(host.root)

    for path in (b"bobstay/server/token", b"bobstay/server", b"bobstay", b"bobstay/sessions"):
        assert await refused(host, session.id, b"path=" + path) == "forbidden"
    names = {entry["name"] for entry in (await host.get(f"/sessions/{session.id}/files")).json["entries"]}
    assert "bobstay" not in names
    assert b"token" not in (await host.get(f"/sessions/{session.id}/complete", q="token")).body
    inner = host.session(tree)
    assert (await host.get(f"/sessions/{inner.id}/file", path="file")).json["text"] == "fine"


async def test_names_are_completed_before_there_is_a_session_only_where_one_may_be(host: FilesHost) -> None:
    """FM-53."""
    project = host.root / "project"
    project.mkdir(exist_ok=True)
    (project / "cart.py").write_text("")
    found = await host.get("/complete", cwd=str(project), q="cart")
    assert found.json["paths"] == ["cart.py"]
    for cwd in ("/etc", f"{project}/../..", "relative", "/nowhere/at/all", "/proc/self/cwd"):
        assert (await host.get("/complete", cwd=cwd, q="pass")).status in (403, 404, 422)


async def test_directories_to_begin_in_are_those_below_the_roots(host: FilesHost) -> None:
    (host.root / "alpha").mkdir()
    (host.root / "alpine").mkdir()
    (host.root / "alto").symlink_to(host.outside)
    (host.root / "alfile").write_text("")

    async def offered(prefix: str) -> list[str]:
        return list((await host.get("/directories", prefix=prefix)).json["directories"])

    assert await offered("") == [str(host.root)]
    assert await offered(str(host.root)[:-2]) == [str(host.root)]
    assert await offered(f"{host.root}/al") == [str(host.root / "alpha"), str(host.root / "alpine")]
    assert f"{host.root}/bobstay" not in await offered(f"{host.root}/")
    for prefix in ("/et", f"{host.root}/../out", "relative", "/\0", f"{host.outside}/", "/proc/"):
        assert await offered(prefix) == []


@pytest.mark.parametrize("path", ["", "relative", "/a\0b", "/" + "a/" * 3000])
def test_no_directory_is_no_directory(path: str, tmp_path: Path) -> None:
    with pytest.raises(ApiError):
        resolve_allowed(path, AllowedRoots((str(tmp_path),)))


def test_outside_the_roots_nothing_is_said_of_what_exists(tmp_path: Path) -> None:
    bounds = AllowedRoots((str(tmp_path),))
    codes = set()
    for path in ("/etc", "/surely/not/there"):
        with pytest.raises(ApiError) as error:
            resolve_allowed(path, bounds)
        codes.add(error.value.problem.code)
    assert codes == {"forbidden"}
