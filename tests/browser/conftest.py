"""One Chromium a worker, one console a test; errors in its browsers fail the test."""

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
from tests.browser.kit import TIMEOUT_MS, WebConsole
from tests.modelserver.server import ModelServer

HERE = str(Path(__file__).parent)
SHOTS = Path(os.environ.get("BOBSTAY_SHOTS") or Path(__file__).parent / "shots")
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
    expect.set_options(timeout=TIMEOUT_MS)
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
async def web(
    browser: Browser,
    model: ModelServer,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    built_page: str,
) -> AsyncIterator[WebConsole]:
    """A console with the built page; `web.open()` signs a browser in to it."""
    monkeypatch.setattr(page_files, "BUILT", built_page)
    async for each in opened(browser, model, tmp_path, request):
        yield each


@pytest_asyncio.fixture(loop_scope="session")
async def plain_web(
    browser: Browser,
    model: ModelServer,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[WebConsole]:
    """A console as it is where the page was not built."""
    monkeypatch.setattr(page_files, "BUILT", str(tmp_path / "not-built"))
    async for each in opened(browser, model, tmp_path, request):
        yield each


async def opened(
    browser: Browser, model: ModelServer, folder: Path, request: pytest.FixtureRequest
) -> AsyncIterator[WebConsole]:
    async with WebConsole(browser, model, folder) as web:
        yield web
        errors, failed = web.errors(), request.node.stash.get(FAILED, False)
        if errors or failed:
            await _keep(web, request)
    # A test that failed has its reason already; the errors stand beside it.
    assert failed or not errors, "\n".join(["Errors in the browser:", *errors])


async def _keep(web: WebConsole, request: pytest.FixtureRequest) -> None:
    """Screenshots and console lines of a test that failed."""
    name = re.sub(r"[^\w-]+", "-", request.node.name)[:100]
    for number, device in enumerate(web.devices):
        for tab, page in enumerate(device.pages):
            if not page.is_closed():
                path = SHOTS / f"failed-{name}-{number}-{tab}.png"
                await page.screenshot(path=path, animations="disabled", caret="hide")
    request.node.add_report_section("teardown", "browser", web.report())
