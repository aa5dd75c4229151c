"""What hosts are told of output styles, and how they keep a prompt as it is."""

from tests.kit.installed_command import InstalledCommand
from tests.kit.program import initialize, prompt
from tests.modelserver import ModelServer
from tests.wire.flows import say


async def test_a_host_learns_which_style_applies_and_which_there_are(
    model: ModelServer, command: InstalledCommand
) -> None:
    command.write("work/.claude/output-styles/mine.md", "---\nname: Mine\n---\nMK-MINE")
    command.write("work/.claude/settings.json", {"outputStyle": "Mine"})
    program = await command.host("--trust")
    try:
        program.send(initialize(), prompt(model.play("a", say("One."))))
        init, answer = await program.until("init"), await program.until("answer:success")
        await program.end()
    finally:
        await program.kill()
    assert init["output_style"] == "Mine"
    told = answer["response"]["response"]
    assert told["output_style"] == "Mine"
    assert told["available_output_styles"] == ["default", "Explanatory", "Learning", "Mine"]
    assert "MK-MINE" in str(model.requests[0].body["messages"][0])


async def test_a_prompt_that_the_host_composed_is_not_searched_for_mentions(
    model: ModelServer, command: InstalledCommand
) -> None:
    command.write("work/f.txt", "MK-FILE")
    program = await command.host("--replay-user-messages")
    try:
        token = model.play("a", say("One."))
        program.send(prompt(f"@f.txt {token}", client_composed=True))
        await program.until("result")
        program.send(prompt([{"type": "text", "text": f"@f.txt {token}"}]))
        await program.end()
    finally:
        await program.kill()
    assert ["MK-FILE" in str(request.body) for request in model.requests] == [False, True]
    assert "MK-FILE" not in str(program.frames), "hosts see the prompt as they sent it"
