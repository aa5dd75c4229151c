"""Views of tools: what real tools did, at three levels of detail; what strangers' words cannot do to them."""

import base64
import re
import subprocess
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.browser.kit import Device, WebConsole
from tests.browser.steps import init_repository, returning_user
from tests.browser.written_log import WrittenLog
from tests.browser.xss import ADDRESSES, ALL, FILE_NAMES, HIDDEN, unharmed
from tests.modelserver.script import Call, Say, Step

CART = """class Cart:
    def add(self, item):
        self.items.append(item)

    def total(self):
        return sum(self.items)
"""
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
TODOS = [
    {"content": "Read the cart", "status": "completed"},
    {"content": "Fix the cart", "status": "in_progress", "activeForm": "Fixing the cart"},
    {"content": "Run the tests", "status": "pending"},
]


async def at_work(web: WebConsole, *calls: list[Call], device: Device | None = None) -> Page:
    """The page of a session whose model made these calls, with real tools."""
    word = web.play("calls", *(Step(blocks=list(each)) for each in calls), Step(blocks=[Say("All done.")]))
    session = await web.launch(f"Go on {word}", permission_mode="bypassPermissions")
    await web.server.until_status(session, "completed")
    page = await (device.open if device else web.open)(f"/session/{session}")
    await expect(page.get_by_text("All done.")).to_be_visible()
    return page


async def written(web: WebConsole, log: WrittenLog) -> Page:
    """The page of a session that was on the disk."""
    session = log.save(web.folder / "bobstay")
    await web.restart()
    page = await web.open(f"/session/{session}")
    await expect(page.get_by_role("article").first).to_be_visible()
    return page


def add_call(
    log: WrittenLog, name: str, given: dict[str, Any], output: str, display: Any, *, error: bool = False
) -> None:
    """A call with what its tool tells people, as engines store it."""
    call = log.call(name, given, done=False)
    reply = {"type": "tool_reply", "call_id": call, "content": [{"type": "text", "text": output}], "is_error": error}
    log.add({"type": "tool_done", "reply": reply, "name": name, "display": display, "duration_ms": 5})


def line(page: Page, words: str) -> Locator:
    """The one line of a call, which opens it."""
    pattern = re.escape(words).replace("/", "\\/")  # JavaScript reads it between slashes
    return page.get_by_role("button", name=re.compile(f"^{pattern}"))


async def opened(page: Page, words: str) -> Locator:
    """The row of a call, open."""
    button = line(page, words)
    await button.scroll_into_view_if_needed()
    if await button.get_attribute("aria-expanded") == "false":
        await button.click()
    return page.get_by_role("article").filter(has=button)


def used(folder: Path) -> list[list[Call]]:
    return [
        [Call("Bash", {"command": "seq 1 300; echo 合計", "description": "Count to three hundred"})],
        [Call("TodoWrite", {"todos": TODOS})],
        [Call("Write", {"file_path": str(folder / "notes/new.md"), "content": "# Notes\n\nwords\n"})],
        [Call("Read", {"file_path": str(folder / "cart.py")})],
        [Call("Bash", {"command": "echo broken >&2; exit 3"})],
        [Call("Glob", {"pattern": "*.py"})],
        [Call("Say", {"words": "one\ntwo", "deep": {"list": [1, 2]}})],
        [Call("Grep", {"pattern": "items", "output_mode": "content", "-C": 1})],
        [Call("Bash", {"command": "sleep 60", "run_in_background": True})],
        [Call("Read", {"file_path": str(folder / "dot.png")})],
    ]


async def test_what_real_tools_did_is_shown_in_a_line_open_and_in_full(web: WebConsole) -> None:
    """S000-74, S000-75, S000-77, S000-79."""
    init_repository(web)
    (web.work / "cart.py").write_text(CART)
    (web.work / "dot.png").write_bytes(base64.b64decode(DOT))
    page = await at_work(web, *used(web.work))

    count = line(page, "$ seq 1 300; echo 合計")
    await expect(count).to_contain_text("1 (301 lines)")
    row = await opened(page, "$ seq 1 300")
    await expect(row).to_contain_text("Count to three hundred")
    await expect(row).not_to_contain_text("150")
    await expect(row).to_contain_text("合計")
    await row.get_by_role("button", name="Show all 301 lines").click()
    await expect(row).to_contain_text("150")

    tasks = await opened(page, "Tasks: 1 of 3 done")
    await expect(tasks.get_by_role("listitem")).to_have_text(
        ["✓Read the cart(done)", "●Fixing the cart(in progress)", "◦Run the tests(to do)"]
    )

    await expect(line(page, "Write notes/new.md")).to_contain_text("+3")
    new = await opened(page, "Write notes/new.md")
    await expect(new.locator("[data-kind=added]")).to_have_count(3)
    await expect(new).to_contain_text("✓ Created")

    await expect(line(page, "Read cart.py")).to_contain_text("6 lines")
    read = await opened(page, "Read cart.py")
    await expect(read).to_contain_text("6        return sum(self.items)")

    broken = await opened(page, "$ echo broken")
    await expect(broken).to_contain_text("✗ Failed")
    await expect(broken).to_contain_text("Exit code 3")

    await expect(line(page, "Find *.py")).to_contain_text("1 file")
    assert "cart.py" in await (await opened(page, "Find *.py")).inner_text()

    unheard = await opened(page, "Say one")
    await expect(unheard).to_contain_text('{"list":[1,2]}')
    await expect(unheard).to_contain_text("No such tool")

    grep = await opened(page, "Search “items”")
    await expect(grep).to_contain_text("cart.py 2 matches")
    await expect(grep).to_contain_text("3        self.items.append(item)")

    await expect(line(page, "$ sleep 60")).to_contain_text("in background")

    await opened(page, "Read dot.png")
    await expect(page.get_by_role("img", name="Image of the result")).to_be_visible()

    await row.hover()
    await row.get_by_role("button", name="Inspect call").click()
    full = page.get_by_role("dialog")
    await expect(full).to_contain_text("150")
    await page.keyboard.press("Escape")
    await expect(full).to_have_count(0)


async def test_an_edit_is_a_diff_one_can_read_in_two_ways_and_copy(web: WebConsole) -> None:
    """S000-76, S000-77: numbers, signs, words, unified and split; copying gives the lines and nothing else."""
    init_repository(web)
    (web.work / "cart.py").write_text(CART)
    path = str(web.work / "cart.py")
    page = await at_work(
        web,
        [Call("Read", {"file_path": path})],
        [Call("Edit", {"file_path": path, "old_string": "sum(self.items)", "new_string": "total(self.items)"})],
        [Call("Edit", {"file_path": path, "old_string": "not there", "new_string": "x"})],
    )
    await expect(line(page, "Edit cart.py").first).to_contain_text("+1 \N{MINUS SIGN}1")
    row = page.get_by_role("article").filter(has=line(page, "Edit cart.py")).first
    await line(page, "Edit cart.py").first.click()
    diff = row.get_by_role("figure", name="Changes in")
    await expect(diff.locator("[data-kind=removed]")).to_have_text("-        return sum(self.items)")
    await expect(diff.locator("[data-kind=added]")).to_have_text("+        return total(self.items)")
    await expect(row).to_contain_text("✓ Applied")
    removed = diff.locator("[data-kind=removed] .bg-removed-strong")
    await expect(removed).to_have_text("sum")

    whole = "() => { getSelection().selectAllChildren(document.querySelector('figure')); return `${getSelection()}` }"
    assert (await page.evaluate(whole)).split("\n") == [
        "        self.items.append(item)",
        "",
        "    def total(self):",
        "        return sum(self.items)",
        "        return total(self.items)",
    ]

    await row.get_by_role("button", name="Split").click()
    left, right = diff.locator("[data-side=left]"), diff.locator("[data-side=right]")
    await expect(left.last.locator("[data-number]")).to_have_attribute("data-number", "6")
    await expect(left.last).to_have_text("-        return sum(self.items)")
    await expect(right.last).to_have_text("+        return total(self.items)")
    boxes = [await each.last.bounding_box() for each in (left, right)]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["y"] == boxes[1]["y"]
    await right.last.click()
    assert "sum" not in await page.evaluate(whole)
    await page.reload()
    await line(page, "Edit cart.py").first.click()
    await expect(left.last).to_be_visible()

    failed = page.get_by_role("article").filter(has=line(page, "Edit cart.py")).nth(1)
    await line(page, "Edit cart.py").nth(1).click()
    await expect(failed).to_contain_text("✗ Failed")
    await expect(failed).not_to_contain_text("Applied")


async def test_an_output_that_was_cut_on_the_way_can_be_loaded_whole(web: WebConsole) -> None:
    """What the page is told of a long output is how it begins and ends; the rest comes when somebody asks for it."""
    init_repository(web)
    page = await at_work(web, [Call("Bash", {"command": "seq 100000 105000"})])
    await expect(line(page, "$ seq 100000 105000")).to_contain_text("(5,001 lines)")
    row = await opened(page, "$ seq 100000 105000")
    await expect(row).to_contain_text("characters not shown.")
    await row.get_by_role("button", name="Show all").click()
    await expect(row).not_to_contain_text("103333")
    await row.get_by_role("button", name="Load all").click()
    await expect(row.get_by_role("button", name="Load all")).to_have_count(0)
    await expect(row).to_contain_text("103333")
    await expect(row).not_to_contain_text("not shown")


async def test_words_of_strangers_stay_words_in_every_view(web: WebConsole) -> None:
    """FM-49 to FM-52: in inputs, outputs, what tools tell people, paths, and names of tools."""
    init_repository(web)
    log = WrittenLog(web.work, "Hostile").prompt("Go")
    everything = "\n\n".join(ALL)
    name = FILE_NAMES[0]
    picture = {"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zy8+"}
    hits = [{"title": each, "url": each, "snippet": each} for each in (*ADDRESSES, "https://evil.example")]
    patch = [{"oldStart": 1, "newStart": 1, "lines": [f"{'-+ '[at % 3]}{each}" for at, each in enumerate(ALL)]}]
    questions = [{"question": each, "options": [{"label": each}, {"label": "b"}]} for each in ALL[:20]]
    numbered = "\n".join(f"{at}\t{each}" for at, each in enumerate(everything.split("\n"), 1))
    matched = "\n".join(f"{file}:{at}:{each}" for at, each in enumerate(ALL, 1) for file in FILE_NAMES[:3])
    add_call(log, "Bash", {"command": everything, "description": everything}, everything, None)
    add_call(log, "Bash", {"command": everything}, everything, None, error=True)
    add_call(log, "Bash", {"command": HIDDEN[0]}, HIDDEN[0], None)
    add_call(log, "Edit", {"file_path": name}, everything, {"structuredPatch": patch})
    add_call(log, "Write", {"file_path": name, "content": everything}, everything, {"type": "create"})
    add_call(log, "Task", {"description": ALL[0], "prompt": everything}, everything, None)
    moved = {"url": ADDRESSES[4], "result": everything}
    add_call(log, "WebFetch", {"url": ADDRESSES[0], "prompt": everything}, everything, moved)
    add_call(log, "WebSearch", {"query": everything}, everything, {"results": hits})
    add_call(log, "TodoWrite", {"todos": [{"content": each, "status": each} for each in ALL]}, everything, None)
    add_call(log, "AskUserQuestion", {"questions": questions}, everything, {"answers": {ALL[0]: everything}})
    add_call(log, "ExitPlanMode", {"plan": everything}, everything, None)
    add_call(log, "Skill", {"skill": ALL[0], "args": everything}, everything, None)
    add_call(log, "NotebookEdit", {"notebook_path": name, "new_source": everything}, everything, None)
    add_call(log, f"mcp__{ALL[0]}__{ALL[1]}", {each: each for each in ALL}, everything, [picture])
    add_call(log, ALL[3], {"x": everything}, everything, ALL)
    log.say("Between.")
    add_call(log, "Read", {"file_path": name}, numbered, None)
    log.say("Between.")
    add_call(log, "Grep", {"pattern": everything, "output_mode": "content"}, matched, None)
    log.say("Between.")
    add_call(log, "Glob", {"pattern": everything}, "", {"filenames": list(FILE_NAMES)})
    log.say("The end.").end()
    page = await written(web, log)
    await expect(page.get_by_text("The end.")).to_be_visible()
    await expect(page.get_by_role("button", name="$ rm -rf RLO/ tmpPDF # safe")).to_be_visible()
    await through(page)
    assert await unharmed(page) == []
    assert web.devices[0].monitor.foreign_requests() == []


async def through(page: Page) -> None:
    """Open every call there is, from the first to the last, looking at each for what came to life."""
    await page.get_by_role("feed").focus()
    seen: set[str] = set()
    await page.evaluate("() => document.querySelector('[role=feed]').closest('[tabindex]').scrollTo(0, 0)")
    while True:
        folded = page.get_by_role("article").get_by_role("button", expanded=False)
        fresh = [each for each in await folded.all() if (await each.inner_text()) not in seen]
        if not fresh:
            break
        seen.add(await fresh[0].inner_text())
        await fresh[0].scroll_into_view_if_needed()
        await fresh[0].click()
        assert await unharmed(page) == []
    assert len(seen) >= 18, seen


async def test_open_calls_are_accessible_in_both_themes_and_fit_a_phone(web: WebConsole) -> None:
    init_repository(web)
    log = WrittenLog(web.work, "Look").prompt("Go")
    long = "x" * 300
    patch = [
        {"oldStart": 998, "newStart": 998, "lines": [" same", f"-{long}", f"+{long}y", "\\ No newline at end of file"]}
    ]
    add_call(log, "Edit", {"file_path": f"/{long}/a.py"}, "done", {"structuredPatch": patch})
    add_call(log, "Bash", {"command": f"echo {long}"}, long, None)
    add_call(log, "TodoWrite", {"todos": TODOS}, "saved", None)
    add_call(log, "mcp__tracker__find", {"query": long, "limit": 3}, '{"found": 1}', None)
    session = log.say("The end.").end().save(web.folder / "bobstay")
    await web.restart()
    for device in (await web.device(theme="dark"), await web.device(theme="light"), await web.phone()):
        page = await device.open(f"/session/{session}")
        for words in ("Edit …/", "$ echo", "Tasks: ", "tracker · find"):
            await opened(page, words)
        assert await device.axe(within="[role=feed]") == []
        wide = "() => document.documentElement.scrollWidth <= innerWidth"
        assert await page.evaluate(wide)
        await expect(page.get_by_text("no newline at end")).to_be_visible()


async def test_lines_of_a_diff_are_walked_and_commented_by_keyboard(web: WebConsole) -> None:
    init_repository(web)
    (web.work / "cart.py").write_text(CART)
    for command in (["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=web.work, check=True)
    (web.work / "cart.py").write_text(CART.replace("sum(", "total("))
    # All changes of the directory: whose this one is, nobody can tell.
    page = await at_work(web, [Call("Bash", {"command": "true"})], device=await returning_user(await web.device()))
    diff = page.get_by_role("figure", name="Changes in cart.py")
    first = diff.get_by_role("button", name="Comment on").first
    await first.focus()
    for _ in range(3):
        await page.keyboard.press("ArrowDown")
    here = diff.get_by_role("button", name="Comment on old line 6")
    await expect(here).to_be_focused()
    await page.keyboard.press("ArrowDown")
    here = diff.get_by_role("button", name="Comment on new line 6")
    await page.keyboard.press("Enter")
    await expect(diff.get_by_role("textbox", name="Comment on new line 6")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(here).to_be_focused()
    await page.keyboard.press("Enter")
    await page.keyboard.type("Name it <b>sum</b> again")
    await page.keyboard.press("Enter")
    await expect(here).to_be_focused()
    await expect(diff.get_by_text("Name it <b>sum</b> again")).to_be_visible()
