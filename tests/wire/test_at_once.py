"""Lines that a host writes at once are processed in order."""

from tests.kit.installed_command import InstalledCommand
from tests.kit.program import initialize, prompt, request
from tests.modelserver import ModelServer
from tests.wire.flows import say


async def test_prompts_written_at_once_are_answered_one_after_the_other(
    model: ModelServer, command: InstalledCommand
) -> None:
    first, second = model.play("first", say("One.")), model.play("second", say("Two."))
    program = await command.host()
    try:
        program.send(prompt(first), prompt(second))
        assert await program.end() == 0
    finally:
        await program.kill()
    assert [frame["result"] for frame in program.frames if frame["type"] == "result"] == ["One.", "Two."]
    assert second not in str(model.requests[0].body)


async def test_an_interrupt_written_right_behind_a_prompt_ends_its_turn(
    model: ModelServer, command: InstalledCommand
) -> None:
    token = model.play("first", say("One."))
    program = await command.host()
    try:
        program.send(initialize(), prompt(token), request(2, "interrupt"))
        result = await program.until("result")
        await program.end()
    finally:
        await program.kill()
    assert result["terminal_reason"] == "aborted_streaming"
