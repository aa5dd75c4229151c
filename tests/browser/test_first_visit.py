"""A first visit: signing in, trying it, connecting a model, and what happens without one."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.async_api import Browser, Page, expect

from bobstay.server import static_files as page_files
from tests.browser.kit import WebConsole
from tests.browser.steps import open_page, session_link, session_list
from tests.kit.web_server import serving
from tests.modelserver.server import ModelServer

KEY = "sk-test-0123456789abcdefghijklmnop"


class Bare(WebConsole):
    """A console without any key."""

    def __init__(self, browser: Browser, model: ModelServer, folder: Path, **keys: str) -> None:
        super().__init__(browser, model, folder)
        self.server.environment = replace(self.server.environment, keys=keys, all_variables=dict(keys), model="")


@pytest.fixture
def page_here(monkeypatch: pytest.MonkeyPatch, built_page: str) -> None:
    monkeypatch.setattr(page_files, "BUILT", built_page)


async def test_a_code_is_pasted_to_sign_in(web: WebConsole) -> None:
    device = await web.device()
    device.expect("401")
    page = await device.open("/", code="")
    await expect(page.get_by_text("bobstay token code")).to_be_visible()
    field = page.get_by_role("textbox", name="Sign-in code")
    await field.fill("#code=wrong")
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_role("form").get_by_role("alert")).to_contain_text("bobstay token code")
    await field.fill(f"{web.url}/#code={await device.code()}")
    await field.press("Enter")
    await expect(page.get_by_role("button", name="Try it")).to_be_visible()


async def test_trying_it_shows_one_approval_one_diff_a_green_test_and_how_to_go_on(
    browser: Browser, model: ModelServer, tmp_path: Path, page_here: None
) -> None:
    async with Bare(browser, model, tmp_path) as bare:
        page = await bare.open()
        await expect(page.get_by_role("heading", name="Agents that work in your directories")).to_be_visible()
        assert await bare.axe() == []
        await page.get_by_role("button", name="Try it").click()
        await expect(session_link(page, "Fix the failing test")).to_have_attribute("aria-current", "page")
        await page.get_by_role("button", name="Allow", exact=True).click()
        await expect(page.get_by_text("passes now")).to_be_visible()
        await expect(session_link(page, "Fix the failing test")).to_contain_text("Done")
        await expect(page.get_by_role("tabpanel").first.get_by_text("greeting.py").first).to_be_visible()
        await page.get_by_role("link", name="bobstay", exact=True).click()
        await expect(page.get_by_role("region", name="Recently finished")).to_contain_text("Fix the failing test")
        assert bare.errors() == []
        await page.get_by_role("main").get_by_role("link", name="Connect a model").click()
        await expect(page.get_by_role("heading", name="Models")).to_be_visible()


async def start(page: Page, prompt: str) -> None:
    await page.get_by_role("textbox", name="Prompt").fill(prompt)
    await page.get_by_role("button", name="Start", exact=True).click()


async def test_without_a_key_no_session_is_left_and_the_form_offers_one_remedy(
    browser: Browser, model: ModelServer, tmp_path: Path, page_here: None
) -> None:
    async with Bare(browser, model, tmp_path) as bare:
        page = await open_page(bare, f"/new?cwd={bare.work}")
        bare.expect("422")
        await page.get_by_role("combobox", name="Model").fill("sonnet")
        await page.keyboard.press("Escape")
        for _ in range(2):
            await start(page, "hello")
            await expect(page.get_by_role("form").get_by_role("alert")).to_contain_text("needs a key for anthropic")
        await expect(page.get_by_role("form").get_by_role("alert")).not_to_contain_text("--")
        await expect(session_list(page).get_by_role("heading")).to_have_count(0)
        await page.get_by_role("link", name="Connect a model").click()
        await expect(page.get_by_role("heading", name="Models")).to_be_visible()


async def test_a_pasted_key_connects_a_model_and_is_not_shown_again(
    browser: Browser, model: ModelServer, tmp_path: Path, page_here: None
) -> None:
    async with Bare(browser, model, tmp_path, ANTHROPIC_BASE_URL=model.url) as bare:
        page = await bare.open()
        await page.get_by_role("link", name="Connect a model").click()
        await page.get_by_role("button", name="Add key: Anthropic").click()
        await page.get_by_label("Key of Anthropic", exact=True).fill(KEY)
        await page.get_by_role("button", name="Save key").click()
        row = page.get_by_role("listitem").filter(has_text="Anthropic")
        await expect(row).to_contain_text("Key stored")
        await expect(row).to_contain_text("Key accepted")
        assert KEY not in await page.content()
        assert await bare.axe() == []
        await page.get_by_role("combobox", name="Default model").fill("haiku")
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Save", exact=True).click()
        await expect(page.get_by_text("New sessions use haiku.")).to_be_visible()
        await page.goto(f"{bare.url}/new")
        await expect(page.get_by_role("combobox", name="Model")).to_have_attribute("placeholder", "haiku")


async def test_a_local_server_is_found_and_made_the_default(
    browser: Browser, model: ModelServer, tmp_path: Path, page_here: None
) -> None:
    nowhere = dict.fromkeys(("VLLM_BASE_URL", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL"), "http://127.0.0.1:9/v1")
    async with serving() as site:
        site.page("/v1/models", b'{"object":"list","data":[{"id":"qwen3:8b","object":"model"}]}', "application/json")
        async with Bare(browser, model, tmp_path, OLLAMA_HOST=site.url, **nowhere) as bare:
            page = await open_page(bare, "/settings/models")
            await page.get_by_role("button", name="Find local servers").click()
            await page.get_by_role("button", name="ollama/qwen3:8b").click()
            await expect(page.get_by_text("New sessions use ollama/qwen3:8b.")).to_be_visible()


async def test_a_directory_is_added_in_the_settings(web: WebConsole, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    page = await open_page(web, "/settings/directories")
    await page.get_by_role("textbox", name="Add a directory").fill(str(outside))
    await page.get_by_role("button", name="Add", exact=True).click()
    await expect(page.get_by_role("list", name="Directories")).to_contain_text(str(outside))
    assert (await web.server.post("/api/v1/sessions", {"cwd": str(outside)})).status == 201
    await page.get_by_role("button", name=f"Remove {outside}").click()
    await expect(page.get_by_role("list", name="Directories")).not_to_contain_text(str(outside))


async def test_the_keyboard_is_not_called_keys(web: WebConsole) -> None:
    page = await open_page(web, "/settings/models")
    parts = page.get_by_role("navigation", name="Settings sections")
    await expect(parts.get_by_role("link", name="Keyboard shortcuts")).to_be_visible()
    await expect(parts.get_by_role("link", name="Keys", exact=True)).to_have_count(0)
