"""An output style is told in the first message, once, and hosts are told which applies."""

from pathlib import Path

import pytest

from bobstay.assembly.session_styles import UnknownStyle
from bobstay.context.system_prompt import CAUTION, CODING
from bobstay.model.event import Event, Prompted
from bobstay.model.message import text_of
from tests.kit.folder_sessions import SESSION, FolderSessions
from tests.modelserver.script import Say, Step
from tests.modelserver.server import ModelServer


@pytest.fixture
def project(model: ModelServer, tmp_path: Path) -> FolderSessions:
    found = FolderSessions(model, tmp_path)
    found.write("work/.claude/output-styles/mine.md", "---\nname: Mine\n---\nMK-MINE")
    found.write("home/.claude/output-styles/keep.md", "---\nname: Keep\nkeep-coding-instructions: true\n---\nMK-KEEP")
    return found


def style_reminders(events: list[Event]) -> list[str]:
    return [text_of(each.blocks) for each in events if isinstance(each, Prompted) and each.why == "output_style"]


async def test_a_style_of_the_settings_is_told_before_the_first_prompt(project: FolderSessions) -> None:
    project.write("work/CLAUDE.md", "MK-WORK")
    project.write("work/.claude/settings.json", {"outputStyle": "Mine"})
    assert len(style_reminders(await project.ask("one", "two"))) == 1
    first = project.blocks()
    assert "MK-WORK" in first[0]
    assert "MK-MINE" in first[1]
    assert CODING not in project.model.requests[-1].body["system"][0]["text"]
    assert CAUTION in str(project.model.requests[-1].body["system"][0]["text"])


async def test_a_style_may_keep_what_the_model_is_told_about_coding(project: FolderSessions) -> None:
    await project.ask("one", settings='{"outputStyle": "Keep"}')
    assert "MK-KEEP" in project.blocks()[0]
    assert CODING in project.model.requests[-1].body["system"][0]["text"]


async def test_an_unknown_style_is_a_warning_and_nothing_else(project: FolderSessions) -> None:
    events = await project.ask("one", settings='{"outputStyle": "Nothing"}')
    assert style_reminders(events) == []
    warning = next(each for each in project.warnings if "'Nothing'" in each)
    assert "Mine" in warning


async def test_a_plugin_brings_styles(project: FolderSessions) -> None:
    loud = "---\nname: Loud\n---\nMK-LOUD <!-- kept -->\n<!-- not told -->\nin ${CLAUDE_PLUGIN_ROOT}"
    project.write("plug/output-styles/loud.md", loud)
    plugin = f"{project.folder}/plug"
    await project.ask("one", settings='{"outputStyle": "plug:loud"}', plugin_dirs=(plugin,))
    assert f"output style plug:Loud. Follow it.\n\nMK-LOUD <!-- kept -->\nin {plugin}" in project.blocks()[0]


async def test_an_untrusted_folder_has_no_styles(project: FolderSessions) -> None:
    """H4-3"""
    project.write("work/.claude/settings.json", {"outputStyle": "Mine"})
    session = await project.open(model="claude-sonnet-4-5")
    assert session.output_style == "default"
    assert "Mine" not in session.info()["available_output_styles"]
    with pytest.raises(UnknownStyle, match="only when it is trusted"):
        session.set_output_style("Mine")
    await session.close()


async def test_setting_sources_limit_styles(project: FolderSessions) -> None:
    for sources, expected in (((), set()), (("user",), {"Keep"}), (("project",), {"Mine"})):
        session = await project.open(trust=True, setting_sources=sources)
        assert {"Mine", "Keep"} & set(session.info()["available_output_styles"]) == expected
        await session.close()


async def test_another_style_can_be_chosen_while_the_session_runs(project: FolderSessions) -> None:
    session = await project.open(model="claude-sonnet-4-5", trust=True)
    assert session.output_style == "default"
    assert session.set_output_style("keep") == "Keep"
    with pytest.raises(UnknownStyle, match="Mine"):
        session.set_output_style("Nothing")
    token = project.model.play("c", Step(blocks=[Say("ok")]))
    told = style_reminders([event async for event in session.run(token)])
    session.set_output_style("default")
    told += style_reminders([event async for event in session.run(token)])
    await session.close()
    assert "MK-KEEP" in told[0]
    assert "No output style applies any more" in told[1]


async def test_a_resumed_session_is_told_only_of_a_change(project: FolderSessions) -> None:
    await project.ask("one", settings='{"outputStyle": "Keep"}', session_id=SESSION)
    assert style_reminders(await project.ask("two", settings='{"outputStyle": "Keep"}', resume=SESSION)) == []
    assert len(style_reminders(await project.ask("three", resume=SESSION))) == 1
    assert style_reminders(await project.ask("four", resume=SESSION)) == []


async def test_the_built_in_styles_are_offered(project: FolderSessions) -> None:
    session = await project.open(trust=True)
    assert session.info()["available_output_styles"] == ["default", "Explanatory", "Learning", "Keep", "Mine"]
    await session.close()
