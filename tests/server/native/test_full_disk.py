"""A session whose beginning cannot be stored does not exist: it never runs with another configuration."""

import os
import resource
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from bobstay.model.message import Text
from bobstay.model.session_events import SessionConfig
from bobstay.server.session_creation import UserMessage
from bobstay.sessions.log import LogFull, SessionMissing
from tests.kit.consoles import BareConsole, StartConsole

READ_ONLY = SessionConfig(workflow="research", append_system_prompt="x" * 20_000)
MESSAGE = UserMessage((Text("look"),), "ada", client_id="sent-twice")


@contextmanager
def largest_file(size: int) -> Generator[None, None, None]:
    """As on a full disk: no file becomes larger."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_session_whose_configuration_cannot_be_stored_is_not_created(start_console: StartConsole) -> None:
    console = await start_console()
    with pytest.raises(LogFull), largest_file(10_000):
        await console.creation.launch(str(console.work), READ_ONLY, MESSAGE, id="new")
    await assert_missing(console)


async def test_a_continued_session_does_not_keep_the_configuration_of_its_parent(start_console: StartConsole) -> None:
    console = await start_console()
    parent = await console.launch("")
    with pytest.raises(LogFull), largest_file(10_000):
        await console.creation.continue_session(parent.id, MESSAGE, READ_ONLY, state_checked=False, id="new")
    await assert_missing(console)
    assert console.view(parent.id).title == parent.title


async def assert_missing(console: BareConsole) -> None:
    with pytest.raises(SessionMissing):  # a client that sends its request again creates it
        await console.creation.send_first_message("new", MESSAGE)
    assert console.registry.get_open("new") is None
    assert not [name for name in os.listdir(console.store.directory) if name.startswith("new")]
