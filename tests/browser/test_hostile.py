"""Words that would do harm, wherever words of models, tools, files and people are shown (FM-49 to FM-52)."""

import subprocess
from functools import partial
from typing import Any
from urllib.parse import quote

from playwright.async_api import expect

from bobstay.server.sessions.session_view import SessionView
from tests.browser.kit import WebConsole
from tests.browser.xss import ALL, FILE_NAMES, HIDDEN, MARKDOWN, MARKUP, unharmed
from tests.modelserver.script import Call, Say, Step, Think

WORDS = "\n\n".join(ALL).replace("\x00", "")
LINE = MARKUP[3] + HIDDEN[0] + MARKDOWN[0]
BRANCH = "<img/src=x/onerror=window.__xss=1>"
PANELS = ("Changes", "Files", "Terminal", "Tasks", "Context", "Events")


def script() -> list[Step]:
    todos = [{"content": words.replace("\x00", ""), "status": "pending", "activeForm": LINE} for words in ALL[:20]]
    question = {
        "questions": [
            {
                "question": WORDS[:2000],
                "header": MARKUP[3][:12],
                "multiSelect": False,
                "options": [
                    {"label": LINE, "description": WORDS[:500]},
                    {"label": MARKUP[0], "description": MARKUP[1]},
                ],
            }
        ]
    }
    return [
        Step(blocks=[Think(WORDS), Say(WORDS), Call("Read", {"file_path": "words.txt"})]),
        Step(blocks=[Call("Write", {"file_path": MARKUP[3].replace("/", ""), "content": WORDS})]),
        Step(blocks=[Call("TodoWrite", {"todos": todos})]),
        Step(blocks=[Call(LINE, {LINE: WORDS, "command": WORDS})]),
        Step(
            blocks=[Call("Bash", {"command": f"cat words.txt; exit 1 # {LINE}", "description": WORDS[:300]}, "toolu_c")]
        ),
        Step(blocks=[Call("AskUserQuestion", question, "toolu_q")]),
        Step(blocks=[Call("ExitPlanMode", {"plan": WORDS}, "toolu_p")]),
        Step(status=400, error_type="invalid_request_error", message=LINE),
    ]


def asks(call_id: str, view: SessionView) -> bool:
    return any(each.call_id == call_id for each in view.interactions)


async def test_nothing_of_what_is_shown_comes_to_life_anywhere(web: WebConsole) -> None:
    """With the policy on: no script, no handler, no address, no request beyond this origin."""
    (web.work / "words.txt").write_text(WORDS)
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (["init", "-q", "-b", BRANCH], ["add", "."], [*identity, "commit", "-qm", LINE]):
        subprocess.run(["git", *words], cwd=web.work, check=True)
    for name in FILE_NAMES:
        (web.work / name).write_text(WORDS)
    token = web.play("hostile", *script())
    session = await web.launch(f"{token} {WORDS[:4000]}", title=LINE, permission_mode="acceptEdits")
    page = await web.open(f"/session/{session}")
    found: list[str] = []

    async def look(where: str) -> None:
        await web.devices[0].settled(page)
        found.extend(f"{where}: {each}" for each in await unharmed(page))

    for call in ("toolu_c", "toolu_q", "toolu_p"):
        view = await web.server.until(session, partial(asks, call))
        await expect(page.get_by_text("window.__xss").first).to_be_visible()
        await look(f"session at {call}")
        await page.goto(f"{web.url}/inbox")
        await look(f"inbox at {call}")
        await page.goto(f"{web.url}/")
        await look(f"home at {call}")
        [item] = view.interactions
        verdict: dict[str, Any] = {
            "decision": "answer" if item.kind == "question" else "allow",
            "input_sha256": item.input_sha256,
        }
        if item.kind == "question":
            verdict["answers"] = {WORDS[:2000]: LINE}
        reply = await web.server.post(f"/api/v1/interactions/{item.id}/decision", verdict)
        assert reply.status == 200, reply.body
        await page.goto(f"{web.url}/session/{session}")
    await web.server.until_status(session, "failed")
    for name in PANELS:
        await page.get_by_role("tab", name=name, exact=True).click()
        await look(f"panel {name}")
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await look("palette")
    for path in ("/search?q=" + quote("onerror"), "/usage", "/settings/permissions", "/new", f"/compare?ids={session}"):
        await page.goto(web.url + path)
        await look(path)
    assert not found, "\n".join(found)


async def test_terminal_sequences_change_neither_clipboard_nor_title(web: WebConsole) -> None:
    """FM-52: what a command prints in a transcript is text and colours, nothing more."""
    (web.work / "words.txt").write_text("\x1b]52;c;cm0gLXJmIH4=\x07\x1b]0;a title that is not the page's\x07plain end")
    token = web.play("escapes", Step(blocks=[Call("Bash", {"command": "cat words.txt"})]), Step(blocks=[Say("Seen.")]))
    subprocess.run(["git", "init", "-q", web.work], check=True)
    session = await web.launch(token)
    page = await web.open(f"/session/{session}")
    await expect(page.get_by_text("Seen.")).to_be_visible()
    assert not await unharmed(page)
