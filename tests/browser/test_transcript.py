"""The transcript: what is shown how, where the reader stays, and how one gets to a place."""

import asyncio
import re
import subprocess
from pathlib import Path
from typing import Any

from playwright.async_api import FloatRect, Locator, Page, expect

from tests.browser.kit import HeldRequests, WebConsole
from tests.browser.steps import init_repository
from tests.browser.written_log import WrittenLog
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Gate, Say, Step, Think

SPOT = """() => {
  const root = document.querySelector('[role=feed]').closest('[tabindex]');
  const edge = root.getBoundingClientRect().top;
  const lines = [...root.querySelectorAll('[data-line]')];
  const line = lines.find((each) => each.getBoundingClientRect().top >= edge) ?? lines[0];
  return {
    id: line.dataset.line, top: line.getBoundingClientRect().top,
    left: root.scrollHeight - root.clientHeight - root.scrollTop,
    drawn: lines.length, place: line.ariaPosInSet,
  };
}"""
PLACE = '(id) => document.querySelector(`[data-line="${id}"]`)?.getBoundingClientRect().top ?? null'
CLIPBOARD = "() => navigator.clipboard.readText()"
IS_IN_VIEW = """(words) => [...document.querySelectorAll("[data-line] p")].some((each) => {
  const { top, bottom } = each.getBoundingClientRect();
  return each.textContent === words && bottom > 0 && top < window.innerHeight;
})"""


async def spot(page: Page) -> dict[str, Any]:
    """What is read, where it stands, and how far the end is."""
    found: dict[str, Any] = await page.evaluate(SPOT)
    return found


async def stays(page: Page, before: dict[str, Any]) -> None:
    """FM-24: what was read has not moved by more than a pixel."""
    now = await page.evaluate(PLACE, before["id"])
    assert now is not None
    assert abs(now - before["top"]) <= 1, (before, now)


async def is_at_the_end(page: Page) -> None:
    await page.wait_for_function(f"() => ({SPOT})().left <= 2")


async def scroll(page: Page, by: int) -> None:
    """As a wheel does it, and until it has an effect."""
    await page.get_by_role("feed").hover()
    before = (await spot(page))["left"]
    await page.mouse.wheel(0, by)
    await page.wait_for_function(f"(before) => ({SPOT})().left !== before", arg=before)
    await page.evaluate("() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")


async def box(element: Locator) -> FloatRect:
    found = await element.bounding_box()
    assert found is not None
    return found


async def edge(call: Locator) -> str:
    """The colour at the left of a call."""
    found: str = await call.first.evaluate("(call) => getComputedStyle(call).borderLeftColor")
    return found


async def colour(page: Page, value: str) -> str:
    """A colour of the style sheet, as the browser computes it."""
    script = """(value) => {
      const probe = document.body.appendChild(document.createElement("i"));
      probe.style.color = value;
      const found = getComputedStyle(probe).color;
      probe.remove();
      return found;
    }"""
    found: str = await page.evaluate(script, value)
    return found


async def shown(web: WebConsole, written: WrittenLog, query: str = "") -> Page:
    """The page with a session that was on the disk."""
    session = written.save(web.folder / "bobstay")
    await web.restart()
    page = await web.open(f"/session/{session}{query}")
    await expect(page.locator("[data-line]").first).to_be_visible()
    return page


def line(page: Page, text: str | re.Pattern[str]) -> Locator:
    return page.get_by_role("article").filter(has_text=text)


def long_story(cwd: Path, turns: int) -> WrittenLog:
    written = WrittenLog(cwd, "A long story")
    for turn in range(turns):
        written.prompt(f"Question {turn}")
        written.say(f"Answer {turn}. " + "It has some words, so that lines differ in height. " * (1 + turn % 7))
        written.call("Bash", {"command": f"echo {turn}"}, f"{turn}\n")
        written.end()
    return written


async def test_each_kind_of_row_is_shown_as_what_it_is(web: WebConsole) -> None:
    """S000-13, S000-72, S003-33, S004-32, S000-75, S000-78, S000-80, S000-81, S003-32: in one line each."""
    init_repository(web)
    written = WrittenLog(web.work, "All kinds")
    written.prompt("Do everything").think("First this.\nThen that.").say("I **begin**.")
    for path in ("a.py", "b.py", "c.py"):
        written.call("Read", {"file_path": path}, "1\tx")
    written.call("Bash", {"command": "make check"}, "fine\n" * 3)
    written.call("Bash", {"command": "make fail"}, "Exit code 2\nno rule to make it", error=True)
    task = written.call("Task", {"description": "review the fix", "prompt": "look"}, done=False)
    written.say("A helper speaks.", parent_call=task)
    written.call("Bash", {"command": "helper at work"}, parent_call=task)
    written.result(task, "Task", "It is right.")
    written.result("toolu_never_called", "Bash", "a result without a call")
    written.add({"type": "raw", "data": {"type": "telepathy", "words": "<b>hm</b>"}})
    written.add({"type": "noted", "text": "The disk is nearly full.", "level": "warning"})
    written.add({"type": "model_changed", "model": "haiku"})
    written.add({"type": "interrupt_asked", "by": "ada"})
    written.end("max_turns", "The limit of 1 turn is reached.")
    page = await shown(web, written)

    run = page.get_by_role("button", name="Explored 3 files")
    await expect(run).to_have_attribute("aria-expanded", "false")
    await expect(page.get_by_text("a.py")).to_have_count(0)
    await run.click()
    await expect(page.get_by_text("a.py").first).to_be_visible()
    check = line(page, "make check").first
    assert 28 <= (await box(check))["height"] <= 32
    await expect(line(page, "make fail")).to_contain_text("no rule to make it")
    assert await edge(line(page, "make fail").locator("[data-status=error]")) == await colour(page, "var(--failed)")
    success = await colour(page, "color-mix(in oklab, var(--done) 50%, transparent)")
    assert await edge(check.locator("[data-status=completed]")) == success
    group = page.get_by_role("button", name="Task: review the fix (1 tool)")
    await expect(page.get_by_text("A helper speaks.")).to_be_visible()
    await group.click()
    await expect(page.get_by_text("A helper speaks.")).to_have_count(0)
    await expect(line(page, "result without a call")).to_be_visible()
    unknown = page.get_by_role("button", name="telepathy")
    await unknown.click()
    await expect(line(page, "telepathy")).to_contain_text("<b>hm</b>")
    await expect(page.get_by_text("The disk is nearly full.")).to_be_visible()
    await expect(page.get_by_text("The model is now haiku.")).to_be_visible()
    await expect(page.get_by_text("Stopped by ada.")).to_be_visible()
    turn = line(page, "Step limit (max turns) reached")
    await expect(turn).to_contain_text("The limit of 1 turn is reached.")
    await expect(turn).to_contain_text("1 step · 6 tools · 8.4s · 1,200 in, 345 out · $0.01".replace(" · ", ""))
    await expect(turn.get_by_title("$0.0123")).to_be_visible()
    thought = page.get_by_role("button", name="Thought First this.")
    await thought.click()
    await expect(page.get_by_text("Then that.")).to_be_visible()
    assert await web.axe(within="section[aria-label=Transcript]") == []


async def test_a_long_session_opens_at_its_end_and_is_read_upwards_without_a_jump(web: WebConsole) -> None:
    """S000-68, FM-21, FM-24: few rows are drawn; pages that come in above move nothing."""
    init_repository(web)
    page = await shown(web, long_story(web.work, 140))
    await expect(page.get_by_text("Question 139")).to_be_visible()
    await is_at_the_end(page)
    assert (await spot(page))["drawn"] < 80
    held = await HeldRequests().at(page, re.compile(r"/events\?.*before="))
    first = page.locator("[data-line][aria-posinset='1']")
    came = 0
    while await page.get_by_text("Loading earlier messages").count():
        while not await first.count():
            await scroll(page, -1500)
        before = await spot(page)
        await held.release()
        moved = '([id, place]) => document.querySelector(`[data-line="${id}"]`).ariaPosInSet !== place'
        await page.wait_for_function(moved, arg=[before["id"], before["place"]])
        await stays(page, before)
        came += 1
    assert came >= 2
    # What comes into view is measured, and what is read stays: the top may be a second turn of the wheel away.
    await page.get_by_role("feed").hover()
    async with asyncio.timeout(DEADLINE):
        while not await page.evaluate(IS_IN_VIEW, "Question 0"):
            await page.mouse.wheel(0, -100_000)
            await page.evaluate("() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
    assert (await spot(page))["drawn"] < 80
    await scroll(page, 8_000)
    await expect(page.get_by_text("Question 0", exact=True)).to_have_count(0)
    await page.keyboard.press("Shift+G")
    await expect(page.get_by_text("Question 139")).to_be_visible()
    await is_at_the_end(page)


async def test_it_follows_at_the_end_and_nowhere_else(web: WebConsole) -> None:
    """S000-68, FM-24: streaming, a growing composer, zoom; and what is read elsewhere stays."""
    init_repository(web)
    words = [Say("\n\n".join(f"Paragraph {n} " + "word " * 60 for n in range(12))) for _ in range(3)]
    gates = [Gate(), Gate(), Gate()]
    steps = [
        Step(blocks=[each, Call("TodoWrite", {"todos": []})], gate=gate, gate_after=0)
        for each, gate in zip(words, gates, strict=True)
    ]
    word = web.play("flow", *steps, Step(blocks=[Say("The end.")]))
    session = await web.launch(f"tell {word}")
    page = await web.open(f"/session/{session}")
    gates[0].open()
    await gates[1].reached()
    await expect(line(page, "Tasks").first).to_be_visible()
    await is_at_the_end(page)

    composer = page.get_by_role("textbox").last
    await composer.fill("one\ntwo\nthree\nfour\nfive\nsix")
    await is_at_the_end(page)
    await composer.fill("")
    await is_at_the_end(page)
    for zoom in ("1.1", "0.67", "1"):
        await page.evaluate("(zoom) => { document.body.style.zoom = zoom }", zoom)
        await page.evaluate("() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
        await is_at_the_end(page)

    await scroll(page, -300)
    before = await spot(page)
    gates[1].open()
    await gates[2].reached()
    await expect(page.get_by_role("button", name=re.compile(r"Jump to latest \(\d+ new\)"))).to_be_visible()
    await stays(page, before)
    await composer.fill("one\ntwo\nthree\nfour\nfive\nsix")
    await stays(page, before)
    await composer.fill("")

    await page.get_by_role("button", name="Jump to latest").click()
    await is_at_the_end(page)
    gates[2].open()
    await expect(page.get_by_text("The end.")).to_be_visible()
    await web.server.until_status(session, "completed")
    await expect(line(page, "Done").last).to_be_visible()
    await is_at_the_end(page)
    await expect(page.locator("[data-status] .pulse-needs")).to_have_count(0)


async def test_what_is_opened_stays_under_the_pointer(web: WebConsole) -> None:
    """Also at the end, where everything else follows; and folds and place are kept for a session one comes back to."""
    init_repository(web)
    other = WrittenLog(web.work, "Another")
    other.prompt("Elsewhere").say("Here it is quiet.").end()
    other_id = other.save(web.folder / "bobstay")
    written = long_story(web.work, 30)
    page = await shown(web, written)
    await web.devices[0].settled()
    button = page.get_by_role("button", name="$ echo 29")
    before = (await box(button))["y"]
    await button.click()
    await expect(button).to_have_attribute("aria-expanded", "true")
    assert abs((await box(button))["y"] - before) <= 1
    await scroll(page, -1500)
    place = await spot(page)
    await page.get_by_role("link", name="Another").click()
    await expect(page.get_by_text("Here it is quiet.")).to_be_visible()
    assert other_id in page.url
    await page.go_back()
    await expect(page.get_by_role("button", name="Jump to latest")).to_be_visible()
    await stays(page, place)
    await page.keyboard.press("Shift+G")
    await expect(page.get_by_role("button", name="$ echo 29")).to_have_attribute("aria-expanded", "true")


async def test_links_and_searches_lead_to_rows_that_were_not_loaded(web: WebConsole) -> None:
    """Deep links to a message and a call; search with next and previous beyond what is here."""
    init_repository(web)
    written = WrittenLog(web.work, "Needles")
    written.prompt("Begin").say("The first needle is here.")
    call = written.call("Bash", {"command": "hidden away"}, "a second needle, in an output\n")
    written.end()
    for turn in range(120):
        written.prompt(f"Question {turn}").say(f"Hay {turn}").end()
    written.prompt("Finish").say("The last needle.").end()
    page = await shown(web, written, f"?call={call}")
    await expect(line(page, "hidden away")).to_be_in_viewport()
    await expect(line(page, "hidden away")).to_have_attribute("aria-current", "true")

    page = await web.open(f"/session/{written.id}")
    await expect(page.get_by_text("The last needle.")).to_be_visible()
    await page.keyboard.press("/")
    await page.get_by_role("textbox", name="Search in this session").fill("needle")
    status = page.get_by_role("search").get_by_role("status")
    await expect(status).to_have_text("3 of 3")
    await page.keyboard.press("Shift+Enter")
    await expect(page.get_by_text("a second needle, in an output").first).to_be_in_viewport()
    await page.keyboard.press("Shift+Enter")
    await expect(status).to_have_text("1 of 3")
    await expect(page.get_by_text("The first needle is here.")).to_be_in_viewport()
    assert await page.evaluate("() => CSS.highlights.get('found')?.size") >= 1
    await page.keyboard.press("Enter")
    await expect(status).to_have_text("2 of 3")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("search")).to_have_count(0)


async def test_keys_go_from_row_to_row_open_fold_inspect_and_copy(web: WebConsole) -> None:
    """S000-79: the third level by `i`; what is copied is clean."""
    init_repository(web)
    written = WrittenLog(web.work, "Keys")
    written.prompt("Begin").say("Some **words**.")
    written.call("Bash", {"command": "make colours"}, "\u001b[31mred\u001b[0m\r\n" + "x" * 40_000 + "\nend of it\n")
    written.end()
    page = await shown(web, written)
    await web.devices[0].context.grant_permissions(["clipboard-read", "clipboard-write"])
    current = page.locator("[aria-current=true][data-row]")
    await page.keyboard.press("ArrowDown")
    await expect(current).to_contain_text("Begin")
    await page.keyboard.press("ArrowDown")
    await current.get_by_role("button", name="Copy text").click()
    await expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    assert await page.evaluate(CLIPBOARD) == "Some **words**."
    await page.keyboard.press("ArrowDown")
    await expect(current).to_contain_text("make colours")
    await page.keyboard.press("l")
    await expect(current.get_by_role("button", expanded=True)).to_be_visible()
    await page.keyboard.press("h")
    await expect(current.get_by_role("button", expanded=True)).to_have_count(0)
    await page.keyboard.press("i")
    dialog = page.get_by_role("dialog", name="$ make colours")
    await dialog.get_by_role("tab", name="Output").click()
    await expect(dialog.get_by_text("end of it")).to_be_visible()
    await dialog.get_by_role("button", name="Copy output").click()
    await expect(page.get_by_text("Output copied")).to_be_visible()
    copied = await page.evaluate(CLIPBOARD)
    assert copied.startswith("red\nxxx")
    assert copied.count("x") == 40_000
    await dialog.get_by_role("button", name="Copy link").click()
    await expect(page.get_by_text("Link copied")).to_be_visible()
    assert "?call=toolu_" in await page.evaluate(CLIPBOARD)
    assert await web.axe(within="[role=dialog]") == []
    await page.keyboard.press("Escape")
    await page.keyboard.press("u")
    await expect(current).to_contain_text("Begin")


async def test_tools_and_thinking_can_be_hidden_but_not_what_failed(web: WebConsole) -> None:
    """S003-44."""
    init_repository(web)
    written = WrittenLog(web.work, "Quiet")
    written.prompt("Begin").think("A thought.").say("Words.")
    written.call("Bash", {"command": "works"})
    written.call("Bash", {"command": "breaks"}, "Exit code 1", error=True)
    written.end()
    page = await shown(web, written)
    for words in ("Toggle tool calls", "Toggle thinking"):
        await page.keyboard.press("Control+k")
        await page.get_by_placeholder("Search sessions, commands and models").fill(words)
        await page.get_by_role("option", name=words).click()
    await expect(line(page, "works")).to_have_count(0)
    await expect(line(page, "A thought.")).to_have_count(0)
    await expect(line(page, "breaks")).to_be_visible()
    await expect(line(page, "Words.")).to_be_visible()


async def test_a_running_command_shows_the_end_of_what_it_prints(web: WebConsole) -> None:
    """S000-71, S000-73, S000-78, FM-22: fixed in height, in the terminal's colours; a line when it is over."""
    init_repository(web)
    gate = Gate()
    fifo = web.work / "go"
    subprocess.run(["mkfifo", str(fifo)], check=True)
    command = "for n in $(seq 30); do printf '\\033[32mline %s\\033[0m\\n' $n; done; cat go"
    word = web.play(
        "live",
        Step(blocks=[Think("Let me see."), Call("Bash", {"command": command})]),
        Step(blocks=[Say("It is over.")], gate=gate, gate_after=1),
    )
    session = await web.launch(f"run {word}", permission_mode="bypassPermissions")
    page = await web.open(f"/session/{session}")
    tail = page.get_by_label("Output so far")
    await expect(tail).to_contain_text("line 30")
    await expect(tail).not_to_contain_text("line 12")
    await expect(tail.locator("span[style*=ansi-green]").first).to_be_visible()
    assert (await box(tail))["height"] == 160
    call = page.locator("[data-status=running]")
    assert await edge(call) == await colour(page, "var(--needs)")
    mark = call.get_by_text("●")
    assert await mark.evaluate("(mark) => getComputedStyle(mark).animationDuration") == "1.5s"
    fifo.write_text("done\n")
    await gate.reached()
    await expect(tail).to_have_count(0)
    await expect(page.get_by_text("It is over.")).to_be_visible()
    gate.open()
    await web.server.until_status(session, "completed")


async def test_what_models_write_is_shown_and_never_done(web: WebConsole) -> None:
    """FM-49, FM-50: no script, no foreign request, no link but to the web; the kit fails the test otherwise."""
    init_repository(web)
    evil = (
        "<script>document.title='owned'</script><img src=https://evil.example/x onerror=alert(1)>\n\n"
        "[a](javascript:alert(1)) [b](data:text/html,x) [c](https://good.example/) <https://auto.example>\n\n"
        "![pixel](https://evil.example/pixel.png)\n\n```html\n<script>1</script>\n```\n\n&lt;b&gt; `<i>`"
    )
    written = WrittenLog(web.work, "<script>title</script>")
    written.prompt(evil).think(evil).say(evil)
    written.call("Bash", {"command": evil}, evil, error=True)
    written.add({"type": "noted", "text": evil, "level": "error"})
    written.end("failed", evil)
    page = await shown(web, written)
    await expect(page.get_by_text("not loaded, opens evil.example").first).to_be_visible()
    await web.devices[0].settled()
    hrefs = await page.get_by_role("feed").locator("a").evaluate_all("(all) => all.map((each) => each.href)")
    assert set(hrefs) == {"https://good.example/", "https://auto.example/", "https://evil.example/pixel.png"}
    assert await page.get_by_role("feed").locator("img, script, iframe").count() == 0
    rels = await page.get_by_role("feed").locator("a").evaluate_all("(all) => all.map((each) => each.rel)")
    assert set(rels) == {"noreferrer noopener"}


async def test_a_session_is_forked_at_a_message(web: WebConsole) -> None:
    init_repository(web)
    word = web.play("two", Step(blocks=[Say("First answer.")]))
    session = await web.launch(f"one {word}")
    await web.server.until_status(session, "completed")
    page = await web.open(f"/session/{session}")
    await line(page, "First answer.").hover()
    await line(page, "First answer.").get_by_role("button", name="Fork session").click()
    await page.wait_for_url(lambda url: "/session/" in url and session not in url)
    await expect(page.get_by_text("Forked from an earlier session.")).to_be_visible()
    await expect(page.get_by_text("First answer.")).to_be_visible()


def report(sections: int, code_at: int) -> str:
    """A report of about 2,100 characters a section, one of which has a code block as long as the rest."""
    parts = ["# Report\n"]
    for number in range(sections):
        if number == code_at:
            parts.append("```python\n" + "".join(f"value_{line} = {line}\n" for line in range(600)) + "```\n")
        parts.append(f"## Recommendation {number}\n\n" + "Do this before anything else. " * 70 + "\n")
    return "\n".join(parts)


async def test_a_report_of_twenty_kilobytes_is_whole_after_a_reload(web: WebConsole) -> None:
    init_repository(web)
    written = WrittenLog(web.work, "A report").prompt("Report")
    written.say(report(6, code_at=3) + "\n… 5 characters left out …\n\nThe end.")
    written.end()
    page = await shown(web, written)
    for number in range(6):
        await expect(page.get_by_role("heading", name=f"Recommendation {number}")).to_have_count(1)
    await expect(page.get_by_role("feed")).to_contain_text("value_599 = 599")
    await expect(page.get_by_role("button", name=re.compile("character"))).to_have_count(0)


async def test_the_middle_of_a_huge_answer_is_loaded_where_it_is_missing(web: WebConsole) -> None:
    """Its beginning and its end are two texts: a code block that is cut does not swallow what follows it."""
    init_repository(web)
    written = WrittenLog(web.work, "A huge report").prompt("Report")
    written.say(report(200, code_at=199))
    written.end()
    session = written.save(web.folder / "bobstay")
    await web.restart()
    page = await web.open("/")
    held = await HeldRequests().at(page, re.compile(r"/events\?after="))
    await page.goto(f"{web.server.url}/session/{session}")
    await expect(page.get_by_role("heading", name="Recommendation 199")).to_be_visible()
    load = page.get_by_role("button", name=re.compile(r"Load [\d,]+ characters|Loading…"))
    await expect(load).to_have_count(1)
    await load.scroll_into_view_if_needed()
    await expect(load).to_have_text("Loading…")
    await expect(page.get_by_role("heading", name="Recommendation 120")).to_have_count(0)
    await held.release()
    await expect(page.get_by_role("heading", name="Recommendation 120")).to_have_count(1)
    await expect(load).to_have_count(0)


async def test_a_file_that_waits_for_a_decision_has_as_many_lines_in_the_transcript_as_in_the_request(
    web: WebConsole,
) -> None:
    init_repository(web)
    content = "".join(f"line {number} of a file that is long enough to be cut on its way\n" for number in range(300))
    write = Call("Write", {"file_path": str(web.work / "long.txt"), "content": content})
    word = web.play("asks", Step(blocks=[write]))
    session = await web.launch(f"write {word}")
    await web.server.until_status(session, "waiting_input")
    page = await web.open(f"/session/{session}")
    await expect(line(page, "Write long.txt").first).to_contain_text("+300")
