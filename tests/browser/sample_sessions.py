"""Sessions in every state, with data as messy as real work: for screenshots, and for axe."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.browser.kit import WebConsole
from tests.modelserver.script import PHRASE, Call, Counts, Gate, Say, Step, Think

CART = '''"""The shopping cart."""

import threading


class Cart:
    def __init__(self) -> None:
        self.items: list[Item] = []
        self._lock = threading.Lock()

    def add(self, item: Item) -> None:
        self.items.append(item)

    def total(self) -> Decimal:
        return sum(item.price for item in self.items)
'''
CHECK = r"""
import sys
for number in range(1, 300):
    print(f"tests/cart/test_totals_under_load.py::test_total_is_right_while_others_add[{number}] \033[32mPASSED\033[0m")
print("tests/cart/test_cart.py::test_total \033[31mFAILED\033[0m")
print("\033[31mE       AssertionError: assert Decimal('41.90') == Decimal('42.00')\033[0m")
print("1 failed, 299 passed in 8.41s")
sys.exit(1)
"""
PLAN = """## Overview
Replace the list under a lock by an immutable snapshot.

## Phases
1. `src/cart.py`: keep a tuple, swap it under the lock
2. `tests/cart/test_cart.py`: repeat the race 500 times

| phase | files | verified by |
|---|---|---|
| 1 | 1 | `pytest -q tests/cart` |
| 2 | 1 | `pytest -q --count=500` |
"""
QUESTION = {
    "questions": [
        {
            "question": "Which database shall the tests use?",
            "header": "Database",
            "multiSelect": False,
            "options": [
                {"label": "SQLite", "description": "Nothing to install, no row locks"},
                {"label": "PostgreSQL", "description": "As in production; a container is started for the run"},
            ],
        }
    ]
}


class SampleSessions(Struct):
    """The ids of the sessions."""

    asking: str
    running: str
    question: str
    plan: str
    done: str
    failed: str
    gate: Gate


async def start_sample_sessions(web: WebConsole) -> SampleSessions:
    """Start them all and wait until each is in its state."""
    shop = project(web.folder / "shop")
    gate = Gate()
    samples = SampleSessions(
        asking=await begin(web, shop, "The cart test fails one time in ten. Find out why and fix it.", fix()),
        running=await begin(web, shop, "Page through the orders API by cursor", stream(gate)),
        question=await begin(web, shop, "Set up the integration tests", [ask(QUESTION)]),
        plan=await begin(web, shop, "Plan the lock-free cart", [plan()], workflow="plan"),
        done=await begin(web, shop, "Übersetze die Anleitung: на русский, και στα ελληνικά", translate()),
        failed=await begin(web, shop, "Rotate the certificates of the staging cluster", fail()),
        gate=gate,
    )
    await allow(web, samples.asking, "toolu_check")
    waiting = (samples.asking, samples.question, samples.plan)
    await asyncio.gather(*(web.server.until_status(id, "waiting_input") for id in waiting))
    await web.server.until_status(samples.done, "completed")
    await web.server.until_status(samples.failed, "failed")
    await gate.reached()
    return samples


def project(folder: Path) -> Path:
    (folder / "src").mkdir(parents=True)
    (folder / "tests" / "cart").mkdir(parents=True)
    (folder / "src" / "cart.py").write_text(CART)
    (folder / "check.py").write_text(CHECK)
    (folder / "tests" / "cart" / "test_cart.py").write_text("def test_total() -> None:\n    assert True\n")
    (folder / "README.md").write_text("# shop\n\nA shop of **one** cart.\n")
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-qm", "Begin"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


async def begin(web: WebConsole, cwd: Path, prompt: str, steps: list[Step], **config: Any) -> str:
    """A session whose prompt is just what a person would write."""
    web.play(PHRASE + prompt, *steps)
    settings = {"permission_mode": "plan" if config.get("workflow") == "plan" else "acceptEdits", **config}
    return await web.launch(prompt, cwd=str(cwd), title=prompt[:60], **settings)


async def allow(web: WebConsole, session_id: str, call_id: str) -> None:
    """As somebody who approves by a script."""
    view = await web.server.until(session_id, lambda view: any(each.call_id == call_id for each in view.interactions))
    item = next(each for each in view.interactions if each.call_id == call_id)
    body = {"decision": "allow", "input_sha256": item.input_sha256}
    reply = await web.server.post(f"/api/v1/interactions/{item.id}/decision", body)
    assert reply.status == 200, reply.body


def fix() -> list[Step]:
    edit = {
        "file_path": "src/cart.py",
        "old_string": "        return sum(item.price for item in self.items)\n",
        "new_string": "        with self._lock:\n            return sum(item.price for item in self.items)\n",
    }
    todos = [
        {"content": "Find the race", "status": "completed", "activeForm": "Finding the race"},
        {"content": "Hold the lock while adding up", "status": "completed", "activeForm": "Holding the lock"},
        {"content": "Run the test twenty times", "status": "in_progress", "activeForm": "Running the test"},
        {"content": "Say what was wrong", "status": "pending", "activeForm": "Telling"},
    ]
    looking = [Call("Read", {"file_path": path}) for path in ("src/cart.py", "tests/cart/test_cart.py", "README.md")]
    return [
        Step(
            blocks=[
                Think("The total may be read while an item is added."),
                Say("I'll look at the test first."),
                *looking,
            ]
        ),
        Step(blocks=[Call("Grep", {"pattern": "lock", "path": "src"}), Call("Glob", {"pattern": "**/*.py"})]),
        Step(
            blocks=[Call("Bash", {"command": "python3 check.py", "description": "Run the cart tests"}, "toolu_check")]
        ),
        Step(
            blocks=[
                Say("`total()` adds up **without the lock** that `add()` needs:\n\n```python\nreturn sum(...)\n```"),
                Call("Edit", edit),
                Call("TodoWrite", {"todos": todos}),
            ],
            usage=Counts(input=3_000, output=900, cache_read=72_000),
        ),
        Step(
            blocks=[
                Call(
                    "Bash",
                    {"command": "python3 -m pytest -q --count=20 tests/cart", "description": "Run it twenty times"},
                )
            ],
            usage=Counts(input=3_400, output=200, cache_read=72_900),
        ),
        Step(blocks=[Say("Twenty of twenty pass.")]),
    ]


def stream(gate: Gate) -> list[Step]:
    words = "A cursor is better than an offset here: orders come in while somebody pages. " * 3
    return [
        Step(blocks=[Call("Read", {"file_path": "src/cart.py"})]),
        Step(blocks=[Say(words), Say("unseen")], gate=gate, gate_after=1, chunk=40),
    ]


def ask(question: dict[str, Any]) -> Step:
    return Step(blocks=[Say("One thing first."), Call("AskUserQuestion", question)])


def plan() -> Step:
    return Step(blocks=[Say("Here is the plan."), Call("ExitPlanMode", {"plan": PLAN})])


def translate() -> list[Step]:
    text = "# Инструкция\n\nДобавьте товар в корзину. Προσθέστε το προϊόν στο καλάθι.\n"  # noqa: RUF001 - that is Russian
    return [
        Step(blocks=[Call("Write", {"file_path": "docs/Инструкция.md", "content": text})]),
        Step(blocks=[Say("Fertig: `docs/Инструкция.md`. Bitte von jemandem lesen lassen, der es besser kann.")]),
    ]


def fail() -> list[Step]:
    return [Step(status=401, error_type="authentication_error", message="The key for staging has expired.")]
