"""The program behind proxies, with unreachable servers, and with private certificate authorities."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit.certificate_authority import CertificateAuthority
from tests.kit.installed_command import Ended, InstalledCommand
from tests.kit.proxy_server import proxying
from tests.kit.sockets import listening
from tests.kit.web_server import serving
from tests.modelserver import Call, ModelServer, Step
from tests.wire.flows import say


@pytest.fixture
def run(command: InstalledCommand) -> Callable[..., Ended]:
    """Runs it with these variables; an empty one is not set."""
    del command.variables["CLAUDE_CODE_ENTRYPOINT"]

    def start(*arguments: str, **variables: str) -> Ended:
        for name in [name for name, value in variables.items() if not value]:
            command.variables.pop(name, None)
            del variables[name]
        return command.run(*arguments, **variables)

    return start


def test_a_local_model_is_reached_past_a_proxy(model: ModelServer, run: Callable[..., Ended]) -> None:
    nowhere = "http://127.0.0.1:9"
    ended = run(
        *("-p", model.play("t", say("Hello.")), "--model", "ollama/qwen3"),
        OLLAMA_HOST=model.url,
        HTTPS_PROXY=nowhere,
        HTTP_PROXY=nowhere,
        ALL_PROXY=nowhere,
    )
    assert (ended.stdout, ended.returncode) == ("Hello.\n", 0)


def test_a_model_server_that_does_not_run_is_told_at_once_with_what_to_do(run: Callable[..., Ended]) -> None:
    """With the usual ten retries this took two and a half minutes of silence."""
    ended = run("-p", "hello", "--model", "ollama/qwen3", OLLAMA_HOST="127.0.0.1:9", CLAUDE_CODE_MAX_RETRIES="10")
    assert ended.returncode == 1
    assert "127.0.0.1:9" in ended.stdout
    assert "ollama serve" in ended.stdout
    assert "OLLAMA_HOST" in ended.stdout


def test_an_unknown_host_is_told_at_once(run: Callable[..., Ended]) -> None:
    ended = run("-p", "hello", ANTHROPIC_BASE_URL="https://nowhere.invalid", CLAUDE_CODE_MAX_RETRIES="10")
    assert ended.returncode == 1
    assert "nowhere.invalid was not found" in ended.stdout


async def test_a_certificate_that_is_not_trusted_is_told_at_once_with_what_helps(
    run: Callable[..., Ended], tmp_path: Path
) -> None:
    authority = CertificateAuthority(tmp_path)
    received: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readline())

    async with listening(serve, tls=authority.server("127.0.0.1")) as address:

        async def ask(**variables: str) -> Ended:
            url = f"https://{address}"
            return await asyncio.to_thread(lambda: run("-p", "hello", ANTHROPIC_BASE_URL=url, **variables))

        ended = await ask(CLAUDE_CODE_MAX_RETRIES="10")
        assert (ended.returncode, received) == (1, [])
        assert "NODE_EXTRA_CA_CERTS" in ended.stdout
        await ask(CLAUDE_CODE_MAX_RETRIES="0", NODE_EXTRA_CA_CERTS=str(authority.file))
        assert received[-1].startswith(b"POST /v1/messages")


def test_retries_are_told_on_stderr(model: ModelServer, run: Callable[..., Ended]) -> None:
    token = model.play("t", Step(status=529, times=1, then=say("Hello.")))
    ended = run("-p", token, CLAUDE_CODE_MAX_RETRIES="3")
    assert (ended.stdout, ended.returncode) == ("Hello.\n", 0)
    assert "scripted error. Trying again in" in ended.stderr
    assert "(1 of 3)" in ended.stderr


def test_a_warning_of_the_run_is_told_on_stderr(model: ModelServer, run: Callable[..., Ended]) -> None:
    """For example that Ollama gave the model a context window too small for the prompt (H3-12)."""
    token = model.play("t", say("Hello."))
    ended = run("-p", token, "--model", "ollama/qwen3-4k", OLLAMA_HOST=f"{model.url}/ollama")
    assert (ended.stdout, ended.returncode) == ("Hello.\n", 0)
    assert "a context window of 4,096 tokens" in ended.stderr


def test_a_fallback_and_its_end_are_told_on_stderr(model: ModelServer, run: Callable[..., Ended]) -> None:
    busy = Step(status=529, times=3, then=say("Hello."))
    models = ("--model", "claude-sonnet-4-5", "--fallback-model", "claude-haiku-4-5")
    ended = run("-p", model.play("t", busy), *models, CLAUDE_CODE_MAX_RETRIES="2")
    assert (ended.stdout, ended.returncode) == ("Hello.\n", 0)
    assert "using claude-haiku-4-5" in ended.stderr
    ended = run("-p", model.play("u", say("Hello again.")), "-c", CLAUDE_CODE_MAX_RETRIES="2")
    assert "Using claude-sonnet-4-5 again" in ended.stderr
    assert model.requests[-1].body["model"] == "claude-sonnet-4-5"


def test_a_fallback_of_the_default_model_tells_its_name(model: ModelServer, run: Callable[..., Ended]) -> None:
    busy = Step(status=529, times=3, then=say("Hello."))
    ended = run("-p", model.play("t", busy), "--fallback-model", "claude-haiku-4-5", CLAUDE_CODE_MAX_RETRIES="2")
    asked = model.requests[0].body["model"]
    assert f"{asked} did not answer: using claude-haiku-4-5" in ended.stderr
    ended = run("-p", model.play("u", say("Hello again.")), "-c")
    assert f"Using {asked} again" in ended.stderr
    assert model.requests[-1].body["model"] == asked


async def test_models_and_web_pages_are_asked_through_the_proxy_of_the_environment(
    model: ModelServer, run: Callable[..., Ended]
) -> None:
    async with serving() as site:
        site.page("/", "<p>the page</p>")
        hosts = {"docs.example.com:80": f"127.0.0.1:{site.port}", "models.test:80": model.url.removeprefix("http://")}
        async with proxying(hosts, socks=True) as proxy:
            fetch = Step(blocks=[Call("WebFetch", {"url": "http://docs.example.com/"}, "t1")])
            token = model.play("t", fetch, say("Read."))
            variables = {"ALL_PROXY": f"socks5://{proxy.address}", "ANTHROPIC_BASE_URL": "http://models.test"}
            ended = await asyncio.to_thread(lambda: run("-p", token, "--allowed-tools", "WebFetch", **variables))
            assert ended.stdout == "Read.\n"
            assert set(proxy.asked) == {"models.test:80", "docs.example.com:80"}
    assert "the page" in model.requests[-1].raw.decode()


@pytest.mark.parametrize(
    ("model_id", "variables"),
    [
        ("openrouter/x/y", {"OPENROUTER_API_KEY": "own-key", "OPENROUTER_BASE_URL": "{url}/v1"}),
        ("openai/gpt-5.5", {"OPENAI_API_KEY": "own-key", "OPENAI_BASE_URL": "{url}/v1"}),
        ("ollama/qwen3", {"OLLAMA_HOST": "{url}", "OLLAMA_API_KEY": "own-key"}),
    ],
)
def test_headers_for_anthropic_go_to_nobody_else(
    model: ModelServer, run: Callable[..., Ended], model_id: str, variables: dict[str, str]
) -> None:
    given = {name: value.format(url=model.url) for name, value in variables.items()}
    secret = "Authorization: Bearer gateway-secret\nX-Team: blue"
    assert run("-p", model.play("t", say("Hello.")), ANTHROPIC_CUSTOM_HEADERS=secret).stdout == "Hello.\n"
    assert model.requests[-1].headers["authorization"] == "Bearer gateway-secret"
    ended = run("-p", model.play("t", say("Hello.")), "--model", model_id, ANTHROPIC_CUSTOM_HEADERS=secret, **given)
    assert ended.stdout == "Hello.\n"
    assert model.requests[-1].headers["authorization"] == "Bearer own-key"
    assert "x-team" not in model.requests[-1].headers
