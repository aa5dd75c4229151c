"""`bobstay mcp serve --http` tells its address only when it can be reached (H8-5)."""

import re
import socket

import pytest

from bobstay.config.environment import Environment
from bobstay.config.options import Options
from bobstay.mcp_server.serve_mcp_http import serve_http
from tests.kit.installed_command import InstalledCommand
from tests.kit.waiting import DEADLINE


class ReachedError(Exception):
    pass


async def test_the_address_is_told_once_it_can_be_reached(command: InstalledCommand) -> None:
    def connect(line: str) -> None:
        if found := re.search(r"http://127\.0\.0\.1:(\d+)/", line):
            socket.create_connection(("127.0.0.1", int(found[1])), timeout=DEADLINE).close()
            raise ReachedError

    with pytest.raises(ReachedError):
        await serve_http(Options(model="demo"), Environment.read(command.variables), str(command.work), connect)
