"""One Chromium a worker, one desk a test; a desk whose browsers complained fails its test."""

import os
import re
import shutil
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from bobstay.server import static_files as page_files
from tests.browser.chromium import start
from tests.browser.desk import PATIENCE, Desk
from tests.modelserver.server import ModelServer

HERE = str(Path(__file__).parent)
FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser belongs to the event loop that started it, so all these tests share one."""
    for item in items:
        if str(item.path).startswith(HERE + os.sep) and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    async with async_playwright() as playwright:
        started = await start(playwright)
        yield started
        await started.close()


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(scope="session")
def built_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A copy of the built page, so that a build meanwhile does not change it under a test."""
    built = os.environ.get("BOBSTAY_TEST_PAGE") or page_files.BUILT
    assert os.path.exists(os.path.join(built, page_files.INDEX)), "The page is not built: run `make web` first."
    return shutil.copytree(built, str(tmp_path_factory.mktemp("page") / "web"))


@pytest_asyncio.fixture(loop_scope="session")
async def desk(
    browser: Browser,
    model: ModelServer,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    built_page: str,
) -> AsyncIterator[Desk]:
    """A console with the built page; `desk.open()` signs a browser in to it."""
    monkeypatch.setattr(page_files, "BUILT", built_page)
    async for each in at_desk(browser, model, tmp_path, request):
        yield each


@pytest_asyncio.fixture(loop_scope="session")
async def plain_desk(
    browser: Browser,
    model: ModelServer,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Desk]:
    """A console as it is where the page was not built."""
    monkeypatch.setattr(page_files, "BUILT", str(tmp_path / "not-built"))
    async for each in at_desk(browser, model, tmp_path, request):
        yield each


async def at_desk(
    browser: Browser, model: ModelServer, folder: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Desk]:
    async with Desk(browser, model, folder) as desk:
        yield desk
        trouble, failed = desk.trouble(), request.node.stash.get(FAILED, False)
        if trouble or failed:
            await _keep(desk, request)
    # A test that failed has said why already; the complaints stand beside it.
    assert failed or not trouble, "\n".join(["The browser complained:", *trouble])


async def _keep(desk: Desk, request: pytest.FixtureRequest) -> None:
    """Pictures and words of a test that failed."""
    name = re.sub(r"[^\w-]+", "-", request.node.name)[:100]
    for number, seat in enumerate(desk.seats):
        for tab, page in enumerate(seat.pages):
            if not page.is_closed():
                await seat.shot(f"failed-{name}-{number}-{tab}", page)
    request.node.add_report_section("teardown", "browser", desk.story())
