"""The files of the page as they leave the server: types, rules for caches, packed files, places inside the page."""

import asyncio
import gzip
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.types import Message, Scope

from bobstay.server.auth.origin_policy import KEY, RequestOrigin
from bobstay.server.static_files import IMMUTABLE_CACHE, page_route

HTML = "text/html,application/xhtml+xml,*/*;q=0.8"
SCRIPT = "assets/index-B3x_9-aQ.js"


class Answer:
    def __init__(self, messages: list[Message]) -> None:
        start, *rest = messages
        self.status: int = start["status"]
        self.headers = {name.decode(): value.decode() for name, value in start["headers"]}
        self.body = b"".join(message.get("body", b"") for message in rest)


class Browser:
    """Asks the page's route as the server would, without a socket."""

    def __init__(self, folder: Path) -> None:
        self._app = Starlette(routes=[page_route(str(folder))])

    async def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        said = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope: Scope = {"type": "http", "method": method, "path": path, "headers": said, "query_string": b""}
        scope[KEY] = RequestOrigin(path, False, True, None, "", False, False, "", None, "", "", "")
        messages: list[Message] = []

        async def receive() -> Message:
            raise AssertionError("the page reads no bodies")

        async def send(message: Message) -> None:
            messages.append(message)

        await self._app(scope, receive, send)
        return Answer(messages)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "web"
    (made / "assets").mkdir(parents=True)
    for name in ("index.html", "sw.js", "manifest.webmanifest", "icon.svg", SCRIPT, "assets/style-Ab12Cd34.css"):
        (made / name).write_text(f"the content of {name}")
    (made / "assets/mono-Zz12Cd34.woff2").write_bytes(b"font")
    (made / "assets/index-B3x_9-aQ.js.map").write_text("{}")
    (made / "assets/loose.js").write_text("loose")
    (made / f"{SCRIPT}.gz").write_bytes(gzip.compress(b"packed"))
    (tmp_path / "secret.txt").write_text("secret")
    return made


@pytest.fixture
def browser(folder: Path) -> Browser:
    return Browser(folder)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/sw.js", "text/javascript; charset=utf-8"),
        ("/manifest.webmanifest", "application/manifest+json"),
        ("/icon.svg", "image/svg+xml"),
        (f"/{SCRIPT}", "text/javascript; charset=utf-8"),
        (f"/{SCRIPT}.map", "application/json"),
        ("/assets/style-Ab12Cd34.css", "text/css; charset=utf-8"),
        ("/assets/mono-Zz12Cd34.woff2", "font/woff2"),
    ],
)
async def test_every_kind_of_file_has_its_type(browser: Browser, path: str, kind: str) -> None:
    answer = await browser.get(path)
    assert (answer.status, answer.headers["content-type"]) == (200, kind)


async def test_only_files_whose_name_holds_their_hash_are_kept_for_ever(browser: Browser) -> None:
    for path in (f"/{SCRIPT}", f"/{SCRIPT}.map", "/assets/style-Ab12Cd34.css", "/assets/mono-Zz12Cd34.woff2"):
        assert (await browser.get(path)).headers["cache-control"] == IMMUTABLE_CACHE
    for path in ("/", "/index.html", "/sw.js", "/manifest.webmanifest", "/icon.svg", "/assets/loose.js", "/sessions/1"):
        assert (await browser.get(path)).headers["cache-control"] == "no-cache"


async def test_the_service_worker_may_serve_the_whole_page(browser: Browser) -> None:
    assert (await browser.get("/sw.js")).headers["service-worker-allowed"] == "/"
    assert "service-worker-allowed" not in (await browser.get(f"/{SCRIPT}")).headers


async def test_a_packed_file_goes_to_those_who_can_unpack_it(browser: Browser) -> None:
    packed = await browser.get(f"/{SCRIPT}", accept_encoding="deflate, gzip;q=1.0, br")
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["content-type"] == "text/javascript; charset=utf-8"
    assert gzip.decompress(packed.body) == b"packed"
    assert int(packed.headers["content-length"]) == len(packed.body)
    for accepted in ("", "identity", "br", "gzip;q=0", "xgzip", "gzip; q = 0.000"):
        plain = await browser.get(f"/{SCRIPT}", accept_encoding=accepted)
        assert "content-encoding" not in plain.headers
        assert plain.body.decode() == f"the content of {SCRIPT}"
        assert plain.headers["vary"] == packed.headers["vary"] == "Accept-Encoding"
        assert plain.headers["etag"] != packed.headers["etag"]


async def test_the_smaller_packing_is_taken_first(browser: Browser, folder: Path) -> None:
    (folder / f"{SCRIPT}.br").write_bytes(b"smaller")
    answer = await browser.get(f"/{SCRIPT}", accept_encoding="gzip, deflate, br")
    assert (answer.headers["content-encoding"], answer.body) == ("br", b"smaller")


async def test_a_packed_file_of_an_earlier_build_is_not_taken_for_the_page(browser: Browser, folder: Path) -> None:
    (folder / "index.html.gz").write_bytes(gzip.compress(b"old"))
    assert (await browser.get("/", accept_encoding="gzip")).body == b"the content of index.html"


async def test_who_has_the_file_is_not_sent_it_again_until_its_content_changes(browser: Browser, folder: Path) -> None:
    """The new content is as long and as old as the one before: neither length nor date tells them apart."""
    first = await browser.get("/")
    tag = first.headers["etag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = await browser.get("/", if_none_match=known)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
        assert again.headers["cache-control"] == "no-cache"
    index = folder / "index.html"
    date = index.stat().st_mtime_ns
    index.write_text("THE CONTENT OF INDEX.HTML")
    os.utime(index, ns=(date, date))
    changed = await browser.get("/", if_none_match=tag, if_modified_since="Sun, 01 Jan 2040 00:00:00 GMT")
    assert (changed.status, changed.body) == (200, b"THE CONTENT OF INDEX.HTML")


async def test_a_question_for_the_head_gets_the_length_and_no_body(browser: Browser) -> None:
    answer = await browser.get("/", method="HEAD")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-length"] == str(len(b"the content of index.html"))


async def test_nothing_can_be_sent_to_a_file(browser: Browser) -> None:
    answer = await browser.get("/", method="POST")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


async def test_a_place_inside_the_page_is_answered_with_the_page(browser: Browser) -> None:
    for path in ("/sessions", "/sessions/01ABC", "/sessions/01ABC/files/src", "/inbox/", "/assets-of-mine"):
        assert (await browser.get(path)).body == b"the content of index.html"
    deep = "/sessions/01ABC/files/src/main.py"
    assert (await browser.get(deep, accept=HTML)).body == b"the content of index.html"


async def test_a_file_that_is_not_there_is_not_answered_with_the_page(browser: Browser) -> None:
    """A script that is the page would be an error nobody understands; after an update old names are asked for."""
    for path in ("/assets/index-00000000.js", "/assets/gone", "/favicon.ico", "/sessions/01ABC/files/src/main.py"):
        assert (await browser.get(path, accept="*/*")).status == 404
    assert (await browser.get("/assets/index-00000000.js", accept=HTML)).status == 404


async def test_nothing_outside_of_the_folder_is_served(browser: Browser, folder: Path) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "up").symlink_to(folder.parent)
    for path in ("/../secret.txt", "/assets/../../secret.txt", "//etc/passwd.txt", "/link.txt", "/up/secret.txt"):
        answer = await browser.get(path)
        assert (answer.status, b"secret" in answer.body) == (404, False)


@given(st.text(max_size=200) | st.text(alphabet="./\\%\x00a", max_size=40), st.text(max_size=40))
def test_any_path_is_the_page_or_nothing(path: str, accepted: str) -> None:
    """Whatever is asked for, no file beside the page's own is read, and nothing breaks."""
    with tempfile.TemporaryDirectory() as place:
        web = Path(place, "web")
        web.mkdir()
        (web / "index.html").write_text("page")
        Path(place, "secret").write_text("secret")
        accepted = accepted.encode("latin-1", "replace").decode("latin-1")
        answer = asyncio.run(Browser(web).get(f"/{path}", accept_encoding=accepted))
    assert (answer.status, answer.body) == (200, b"page") or answer.status == 404
