"""Files that a prompt mentions are attached to it, under the rules for reading."""

import os
from pathlib import Path

import pytest
from PIL import Image as Picture

from bobstay.model.event import Event, InputQueued, Noted, Prompted, ToolDone, ToolStarted
from bobstay.model.message import Image, Text
from tests.kit.folder_sessions import SESSION, FolderSessions
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer


@pytest.fixture
def project(model: ModelServer, tmp_path: Path) -> FolderSessions:
    found = FolderSessions(model, tmp_path)
    found.write("work/f.txt", "".join(f"line {number}\n" for number in range(1, 6)))
    return found


def attached(events: list[Event]) -> list[Prompted]:
    return [event for event in events if isinstance(event, Prompted) and event.why == "mention"]


def notes(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Noted)]


async def test_a_file_precedes_the_prompt_as_if_it_had_been_read(project: FolderSessions) -> None:
    events = await project.ask("see @f.txt, please")
    called, result, prompt = project.blocks()
    assert called.startswith("<system-reminder>\nCalled the Read tool with ")
    assert f"{project.work}/f.txt" in called
    assert result.startswith("<system-reminder>\nResult of calling the Read tool:\n1\tline 1\n")
    assert prompt.startswith("see @f.txt, please")
    assert [event.origin for event in events if isinstance(event, Prompted) and event.why != "listing"] == [
        "harness",
        "human",
    ]


async def test_lines_a_folder_and_a_name_with_blanks_can_be_mentioned(project: FolderSessions) -> None:
    project.write("work/my notes.txt", "MK-NOTES")
    project.write("work/d/inner/x", "x")
    project.write("work/d/file", "x")
    await project.ask('@f.txt#L2-3 and @"my notes.txt" and @d.')
    shown = "\n".join(project.blocks())
    assert "2\tline 2\n3\tline 3" in shown
    assert "line 4" not in shown
    assert "MK-NOTES" in shown
    assert "file\ninner/" in shown


async def test_a_file_is_attached_once_however_often_it_is_mentioned(project: FolderSessions) -> None:
    assert len(attached(await project.ask("see @f.txt. And @f.txt, and @./f.txt?"))) == 1


async def test_what_is_no_mention_or_not_there_stays_text(project: FolderSessions) -> None:
    events = await project.ask("me@f.txt (@f.txt) @nothing.txt @agent-x @server:uri @")
    assert attached(events) == []
    assert notes(events) == []
    assert len(project.blocks()) == 1


async def test_a_file_the_model_knows_is_not_repeated_until_it_changes(project: FolderSessions) -> None:
    read = (Step(blocks=[Call("Read", {"file_path": "f.txt"}, "r")]), Step(blocks=[Say("ok")]))
    assert attached(await project.ask("one", "see @f.txt", steps=read, session_id=SESSION)) == []
    assert attached(await project.ask("again @f.txt", resume=SESSION)) == []
    project.write("work/f.txt", "changed")
    assert len(attached(await project.ask("@f.txt", "@f.txt", resume=SESSION))) == 1


async def test_a_part_that_was_read_does_not_keep_the_rest_back(project: FolderSessions) -> None:
    part = {"file_path": "f.txt", "offset": 2, "limit": 1}
    read = (Step(blocks=[Call("Read", part, "r")]), Step(blocks=[Say("ok")]))
    assert len(attached(await project.ask("one", "see @f.txt", steps=read))) == 1
    assert len(attached(await project.ask("@f.txt#L1", "@f.txt", "@f.txt#L2"))) == 2


async def test_a_mentioned_file_can_be_edited_without_reading_it_again(project: FolderSessions) -> None:
    edit = {"file_path": f"{project.work}/f.txt", "old_string": "line 1", "new_string": "LINE 1"}
    steps = (Step(blocks=[Call("Edit", edit, "e")]), Step(blocks=[Say("ok")]))
    events = await project.ask("change @f.txt", steps=steps, permission_mode="acceptEdits")
    assert [event.reply.is_error for event in events if isinstance(event, ToolDone)] == [False]
    assert (project.work / "f.txt").read_text().startswith("LINE 1")


async def test_what_may_not_be_read_is_not_attached_and_that_is_said(project: FolderSessions) -> None:
    """H5-2"""
    project.write("outside.txt", "MK-OUTSIDE")
    project.write("work/.env", "MK-ENV")
    project.write("work/d/.env", "MK-ENV")
    project.write("work/d/b", "x")
    (project.work / "link.txt").symlink_to(project.folder / "outside.txt")
    denied = ("Read(**/.env)",)
    prompt = f"@.env @../outside.txt @{project.folder}/outside.txt @link.txt @.. @d"
    events = await project.ask(prompt, disallowed_tools=denied)
    assert "MK-" not in str(project.model.requests[-1].raw)
    assert [len(attached(events)), len(notes(events))] == [1, 5]
    assert "@.env was not attached" in notes(events)[0]
    assert ".env" not in str(attached(events)[0].blocks), "nor is its name in the list of its folder"


async def test_without_the_tool_for_reading_nothing_is_attached(project: FolderSessions) -> None:
    events = await project.ask("@f.txt @.", disallowed_tools=("Read",))
    assert attached(events) == []
    assert len(notes(events)) == 2


async def test_an_image_is_shown_and_other_binary_files_are_not(project: FolderSessions) -> None:
    Picture.new("RGB", (2, 2)).save(project.work / "p.png")
    (project.work / "b.bin").write_bytes(b"\0\1\2" * 100)
    events = await project.ask("@p.png @b.bin")
    assert [type(block) for block in attached(events)[0].blocks] == [Text, Text, Image]
    assert "binary" in notes(events)[0]


async def test_names_that_are_no_text_do_no_harm(project: FolderSessions) -> None:
    name = os.fsdecode(b"odd\xff")
    (project.work / name).write_text("MK-ODD")
    (project.work / os.fsdecode(b"bin\xff")).write_bytes(b"\0" * 100)
    events = await project.ask(f"@{name} @{os.fsdecode(b'bin' + bytes([255]))} @. @\0 @\ud800")
    assert "MK-ODD" in str(project.model.requests[-1].raw)
    assert len(attached(events)) == 2
    assert len(notes(events)) == 1


async def test_too_many_mentions_are_bounded(project: FolderSessions) -> None:
    for number in range(30):
        project.write(f"work/n{number}", f"text {number}")
    events = await project.ask(" ".join(f"@n{number}" for number in range(30)))
    assert len(attached(events)) == 20
    assert "too much" in notes(events)[-1]


async def test_nested_instructions_come_with_a_mentioned_file(project: FolderSessions) -> None:
    """H4-4"""
    project.write("work/sub/AGENTS.md", "MK-SUB")
    project.write("work/sub/f", "x")
    await project.ask("@sub/f")
    assert any("MK-SUB" in text for text in project.blocks())


async def test_a_prompt_that_a_program_composed_is_taken_as_it_is(project: FolderSessions) -> None:
    session = await project.open(model="claude-sonnet-4-5")
    token = project.model.play("v", Step(blocks=[Say("ok")]))
    events = [event async for event in session.run(f"see @f.txt {token}", verbatim=True)]
    await session.close()
    assert attached(events) == []
    assert [event.verbatim for event in events if isinstance(event, Prompted) and event.why != "listing"] == [True]


async def test_a_message_to_a_busy_session_can_mention_files_too(project: FolderSessions) -> None:
    session = await project.open(model="claude-sonnet-4-5")
    call = Step(blocks=[Call("Read", {"file_path": "d"}, "r")])
    token = project.model.play("busy", call, Step(blocks=[Say("ok")]))
    kept: list[Event] = []
    async for event in session.run(f"one {token}"):
        kept.append(event)
        if isinstance(event, ToolStarted):
            session.steer("look at @f.txt")
            session.driver.queue(InputQueued("plain", (Text("not at @f.txt#L1"),), verbatim=True))
    await session.close()
    whys = [event.why for event in kept if isinstance(event, Prompted) and event.why != "listing"]
    assert whys == ["", "mention", "steer", "steer"]
