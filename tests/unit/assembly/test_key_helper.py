"""The API key helper: caching, timeout and environment of its command."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bobstay.assembly import key_helper
from bobstay.assembly.key_helper import KeyHelper, KeyHelperProvider
from bobstay.model.event import Noted
from bobstay.model.message import Message, Text
from bobstay.providers.base import Chunk, ErrorKind, ProviderError, Request
from bobstay.redaction.redactor import Redactor, placeholder
from tests.kit.waiting import DEADLINE

PATH = "/usr/bin:/bin"


def counting(folder: Path) -> str:
    return f'echo x >> {folder}/calls; echo "key-number-$(wc -l < {folder}/calls)" | tr -d " "'


def helper(command: str, folder: Path, redactor: Redactor | None = None, **variables: str) -> KeyHelper:
    return KeyHelper(command, redactor or Redactor(), cwd=str(folder), environment={"PATH": PATH, **variables})


async def test_a_key_is_kept_for_five_minutes_unless_told_otherwise(tmp_path: Path) -> None:
    assert key_helper.TTL == 300.0
    kept = helper(counting(tmp_path), tmp_path)
    assert [await kept.key(), await kept.key()] == ["key-number-1"] * 2
    fresh = helper(counting(tmp_path), tmp_path, CLAUDE_CODE_API_KEY_HELPER_TTL_MS="0")
    assert [await fresh.key(), await fresh.key()] == ["key-number-2", "key-number-3"]


async def test_every_key_is_told_by_a_name_of_its_own(tmp_path: Path) -> None:
    """The first key may still occur in the output of tools."""
    redactor = Redactor()
    mine = helper(counting(tmp_path), tmp_path, redactor)
    assert await mine.key(refused=await mine.key()) == "key-number-2"
    shown = redactor.redact("key-number-1 and key-number-2")
    assert shown == f"{placeholder('apiKeyHelper 1')} and {placeholder('apiKeyHelper 2')}"


async def test_a_command_that_takes_too_long_is_ended_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert key_helper.TIMEOUT == 30.0
    monkeypatch.setattr(key_helper, "TIMEOUT", 0.2)
    with pytest.raises(ProviderError, match=r"took longer than 0\.2 s") as caught:
        async with asyncio.timeout(DEADLINE):
            await helper("sleep 300", tmp_path).key()
    assert caught.value.kind == "authentication"


class Failing:
    """A service that refuses everything in one way."""

    name = "anthropic"

    def __init__(self, kind: ErrorKind) -> None:
        self._kind = kind

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        if request.model:
            raise ProviderError("no", kind=self._kind)
        yield Noted("never")

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(("kind", "calls"), [("authentication", 2), ("permission", 1), ("overloaded", 1)])
async def test_only_a_refused_key_is_fetched_anew(tmp_path: Path, kind: ErrorKind, calls: int) -> None:
    provider = KeyHelperProvider("anthropic", helper(counting(tmp_path), tmp_path), lambda _: Failing(kind))
    with pytest.raises(ProviderError, match="no"):
        await anext(provider.stream(Request("m", (), (Message("user", (Text("Hi"),)),))))
    assert (tmp_path / "calls").read_text().count("x") == calls


async def test_the_command_has_the_persons_own_variables_and_the_sessions_folder(tmp_path: Path) -> None:
    assert await helper('echo "$VAULT-$(pwd)"', tmp_path, VAULT="v").key() == f"v-{tmp_path}"
