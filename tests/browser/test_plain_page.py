"""The plain page, which needs no build: it is what people see where there is no Node."""

from playwright.async_api import expect

from tests.browser.kit import WebConsole


async def test_a_demo_session_is_started_by_hand_and_comes_to_its_end(plain_web: WebConsole) -> None:
    page = await plain_web.open()
    await expect(page.get_by_role("status")).to_have_text("Live")
    assert "code=" not in page.url
    await page.get_by_label("Directory").fill(str(plain_web.work))
    await page.get_by_label("Model").fill("demo")
    await page.get_by_label("Prompt").fill("hello there")
    await page.get_by_role("button", name="Start").click()
    sessions = page.get_by_role("region", name="Sessions").get_by_role("listitem")
    await expect(sessions).to_have_count(1)
    await expect(sessions).to_contain_text("completed")


async def test_a_code_that_was_used_is_told_in_words(plain_web: WebConsole) -> None:
    first = await plain_web.device()
    code = await first.code()
    await expect((await first.open(code=code)).get_by_role("status")).to_have_text("Live")
    second = await plain_web.device()
    second.expect("401")
    page = await second.open(code=code)
    await expect(page.get_by_role("status")).to_contain_text("was already used")
