"""A long run in one process: memory grows linearly with the conversation (F25)."""

from pathlib import Path
from typing import Any

from bobstay.model.ids import new_id
from tests.kit.installed_command import InstalledCommand
from tests.modelserver import Call, ModelServer, Say, Step

STEPS, OUTPUT = 300, 16_000
BOUND = 64_000
"""Kilobytes that 200 steps with 16 kB each may add. The conversation itself is 3.2 MB; what is sent of it is in memory
as messages, as the text of the request and in the socket's buffers, each a few MB."""


def test_memory_grows_no_faster_than_the_talk(model: ModelServer, command: InstalledCommand) -> None:
    for number in range(STEPS):
        lines = (f"{number} " + "x" * 90 + "\n") * (OUTPUT // 93)
        (command.work / f"{number}.txt").write_text(lines)
    resident: list[int] = []

    def answer(body: dict[str, Any]) -> Step:
        number = len(resident)
        resident.append(kilobytes(process.pid))
        if number == STEPS:
            return Step(blocks=[Say("Done.")])
        return Step(blocks=[Call("Read", {"file_path": f"{number}.txt"}, f"r{number}")])

    process = command.start("-p", "--session-id", new_id(), "--", model.play("long", answer))
    out, errors = process.communicate(timeout=200)
    assert (out, errors, process.returncode) == ("Done.\n", "", 0)
    assert len(model.requests[-1].raw) > STEPS * OUTPUT
    print(f"kilobytes at the start, after 100 and after 300 steps: {resident[0]}, {resident[100]}, {resident[STEPS]}")
    assert resident[STEPS] - resident[100] < BOUND


def kilobytes(pid: int) -> int:
    """How much memory a process has now."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0
