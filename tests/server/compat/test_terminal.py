"""A terminal on the path of all workers, in the spelling of the console that had it there (S004-30)."""

import asyncio
import json

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.kit.consoles import RunningConsole
from tests.kit.waiting import DEADLINE, until
from tests.modelserver.server import ModelServer
from tests.server.compat.compat_clients import Message, Socket, of_type, socket


async def opened(server: RunningConsole) -> tuple[str, str]:
    id = await server.launch()
    reply = await server.post(f"/api/v1/sessions/{id}/terminals")
    assert reply.status == 201
    return id, str(reply.json["id"])


async def shown(page: Socket, text: str) -> list[Message]:
    """What came until these words were on the screen."""
    messages: list[Message] = []
    while text not in "".join(one["data"] for one in messages if one["type"] == "output"):
        messages += await page.until(of_type("output"))
    return messages


async def read_to_end(page: Socket) -> None:
    async with asyncio.timeout(DEADLINE):
        while True:
            await page.connection.recv()


async def test_a_terminal_is_typed_into_and_read_on_the_path_of_all_workers(server: RunningConsole) -> None:
    """S004-30: `/ws/session/{sid}/worker/{wid}` for a terminal too; `output`, `input`, `resize`, `exit` as JSON."""
    id, worker = await opened(server)
    async with socket(server, f"/ws/session/{id}/worker/{worker}") as page:
        await page.send({"type": "resize", "cols": 132, "rows": 43})
        await page.send({"type": "input", "data": "stty size; printf 'gr\\303\\274n %s\\n' $((40+2))\r"})
        messages = await shown(page, "43 132\r\ngrün 42\r\n")
        assert {one["type"] for one in messages} == {"output"}
        assert messages[-1]["offset"] == sum(len(one["data"].encode()) for one in messages)
        assert {one["epoch"] for one in messages} == {1}
        await page.send({"type": "input", "data": "exit 3\r"})
        ended = (await page.until(of_type("exit")))[-1]
    assert ended == {"type": "exit", "exitCode": 3, "signal": None}


async def test_a_page_that_comes_back_goes_on_where_it_was(server: RunningConsole) -> None:
    """S004-29, S004-41: by epoch and offset; a place that is none is told so."""
    id, worker = await opened(server)
    path = f"/ws/session/{id}/worker/{worker}"
    async with socket(server, path) as page:
        await page.send({"type": "input", "data": "echo be''fore\r"})
        last = (await shown(page, "before\r\n"))[-1]
        async with socket(server, f"{path}?epoch={last['epoch']}&offset={last['offset']}") as again:
            await page.send({"type": "input", "data": "echo af''ter\r"})
            messages = await shown(again, "after\r\n")
    assert "before" not in "".join(one["data"] for one in messages)
    async with socket(server, f"{path}?epoch=7&offset=1") as other:
        reset = (await other.until(of_type("output")))[0]
        assert (reset["type"], reset["reason"], reset["epoch"]) == ("reset", "restarted", 1)
    with pytest.raises(InvalidStatus) as refused:
        async with socket(server, f"{path}?epoch=x&offset=1"):
            pass
    assert refused.value.response.status_code == 422


async def test_a_character_is_never_cut_in_two(server: RunningConsole) -> None:
    """Bytes come in pieces; text does not, and what is no text is shown as such."""
    id, worker = await opened(server)
    async with socket(server, f"/ws/session/{id}/worker/{worker}") as page:
        wait = "until [ -e go ]; do sleep 0.02; done"
        await page.send({"type": "input", "data": f"printf 'half:\\303'; {wait}; printf '\\274\\377|\\n'\r"})
        scrollback = server.auxiliary_workers.terminal(worker).scrollback
        await until(lambda: scrollback.read(0).endswith(b"half:\303"))
        messages = await shown(page, "half:")
        while messages[-1]["offset"] < scrollback.end - 1:  # what was typed comes back first
            messages += await page.until(of_type("output"))
        assert messages[-1]["offset"] == scrollback.end - 1, "up to where text was sent"
        (server.work / "go").touch()
        assert "ü\ufffd|\r\n" in "".join(one["data"] for one in await shown(page, "|\r\n"))


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("{", "invalid_json"),
        ('{"type":"dance"}', "invalid"),
        ('{"type":"input"}', "invalid"),
        ('{"type":"input","data":7}', "invalid"),
        ('{"type":"resize","cols":0,"rows":25}', "invalid"),
        ('{"type":"resize","cols":80}', "invalid"),
        ('{"type":"user-message","content":"hello"}', "not_supported"),
        ('{"type":"cancel"}', "not_supported"),
        (json.dumps({"type": "input", "data": "x" * 300_000}), "too_large"),
    ],
)
async def test_nothing_a_page_says_ends_its_terminal(server: RunningConsole, frame: str, code: str) -> None:
    """S003-22, S004-43: an enumerated code, and the terminal goes on."""
    id, worker = await opened(server)
    async with socket(server, f"/ws/session/{id}/worker/{worker}") as page:
        await page.send(frame)
        assert (await page.until(of_type("error")))[-1]["code"] == code
        await page.send({"type": "input", "data": "echo st''ill\r"})
        await shown(page, "still\r\n")


async def test_only_who_may_use_terminals_comes_in(server: RunningConsole, model: ModelServer) -> None:
    """FM-44: the scope `terminal`; a terminal is found in its own session only."""
    id, worker = await opened(server)
    other = await server.launch()
    path = f"/ws/session/{id}/worker/{worker}"
    for headers, status in (({}, 401), (await server.token("read", "operate"), 403)):
        with pytest.raises(InvalidStatus) as refused:
            async with socket(server, path, headers):
                pass
        assert refused.value.response.status_code == status
        assert isinstance(json.loads(refused.value.response.body)["error"], str)
    with pytest.raises(InvalidStatus) as missing:
        async with socket(server, f"/ws/session/{other}/worker/{worker}"):
            pass
    assert missing.value.response.status_code == 404
    async with socket(server, path, await server.token("terminal")) as page:
        await page.send({"type": "input", "data": "echo in''side\r"})
        await shown(page, "inside\r\n")
        (client,) = [one for one in server.hub.clients() if not one.principal.may("read")]
        await server.auth.revoke(client.principal.client, "ada")
        with pytest.raises(ConnectionClosed) as closed:
            await read_to_end(page)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4001
    assert (await server.ask("DELETE", f"/api/v1/terminals/{worker}")).status < 300
    with pytest.raises(InvalidStatus) as gone:
        async with socket(server, path):
            pass
    assert gone.value.response.status_code == 404
