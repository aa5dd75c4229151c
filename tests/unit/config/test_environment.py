"""The environment: the variables that are read, and those that child processes inherit (H5-9)."""

import os

import pytest

from bobstay.config.environment import Environment
from bobstay.config.paths import MANAGED, Paths
from bobstay.config.secret_variables import is_secret, secret_values, unredacted_names
from bobstay.http.network import Authorities
from bobstay.http.proxies import Proxies


def names(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize(
    "name",
    names(
        "ANTHROPIC_API_KEY ANTHROPIC_CUSTOM_HEADERS OPENAI_API_KEY AWS_SECRET_ACCESS_KEY "
        "AWS_SESSION_TOKEN GITHUB_TOKEN MY_SECRET CLIENT_SECRET_VALUE DB_PASSWORD PGPASSWORD GPG_PASSPHRASE "
        "STRIPE_API_KEY SSH_PRIVATE_KEY gemini_api_key GOOGLE_APPLICATION_CREDENTIALS AZURE_CLIENT_SECRET TOKEN"
    ),
)
def test_secrets_are_kept_from_children(name: str) -> None:
    assert is_secret(name)
    environment = Environment.read({name: "s3cret", "PATH": "/bin"})
    assert environment.child_environment({}) == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "name",
    names(
        "PATH HOME LANG LC_ALL TERM SSH_AUTH_SOCK USER SHELL TMPDIR VIRTUAL_ENV NODE_ENV AWS_REGION AWS_PROFILE "
        "KEYBOARD TOKENIZERS_PARALLELISM http_proxy EDITOR XDG_RUNTIME_DIR "
        "OPENAI_MODEL AZURE_SUBSCRIPTION_ID AZURE_CLIENT_ID OPENAI_ORG_ID"
    ),
)
def test_what_children_need_they_get(name: str) -> None:
    assert Environment.read({name: "x"}).child_environment({}) == {name: "x"}


def test_what_a_person_put_into_settings_reaches_children() -> None:
    environment = Environment.read({"PATH": "/bin", "CDPATH": "/x"})
    assert environment.child_environment({"GITHUB_TOKEN": "t", "PATH": "/usr/bin"}) == {
        "PATH": "/usr/bin",
        "GITHUB_TOKEN": "t",
    }


def test_switches_and_numbers_are_read_by_their_meaning() -> None:
    found = Environment.read(
        {
            "ANTHROPIC_API_KEY": "k",
            "OLLAMA_HOST": "h",
            "OPENAI_API_KEY": "",
            "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
            "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
            "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "0",
            "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "true",
            "CLAUDE_CODE_ENABLE_TASKS": "0",
            "IS_SANDBOX": "1",
            "CLAUDE_CODE_MAX_RETRIES": "4",
            "BASH_DEFAULT_TIMEOUT_MS": "soon",
            "HTTPS_PROXY": "up",
            "https_proxy": "low",
            "NO_PROXY": "x",
            "ANTHROPIC_CUSTOM_HEADERS": "X-A: 1\nbad\nX-B: 2:3",
        }
    )
    assert found.keys == {"ANTHROPIC_API_KEY": "k", "OLLAMA_HOST": "h"}
    assert (found.entrypoint, found.max_retries, found.bash_timeout_ms) == ("sdk-py", 4, None)
    assert (found.reads_session_state, found.emits_session_state, found.file_checkpointing) == (True, False, True)
    assert (found.in_sandbox, found.task_tools) == (True, False)
    assert found.network.proxies == Proxies(https="low", no="x")
    assert found.headers == {"X-A": "1", "X-B": "2:3"}
    assert Environment.read({"CLAUDE_CODE_ENABLE_TASKS": "1"}).task_tools is True
    assert Environment.read({}).task_tools is None


@pytest.mark.parametrize("kind", ["http", "https", "all", "no"])
def test_proxies_are_named_in_either_case_and_lower_case_wins(kind: str) -> None:
    upper, lower = {f"{kind.upper()}_PROXY": "up"}, {f"{kind}_proxy": "low"}
    for given, wins in ((upper, "up"), (lower, "low"), ({**upper, **lower}, "low")):
        assert Environment.read(given).network.proxies == Proxies(**{kind: wins})


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"NODE_EXTRA_CA_CERTS": "/n"}, Authorities(extra="/n")),
        ({"SSL_CERT_FILE": "/f", "SSL_CERT_DIR": "/d"}, Authorities("/f", "/d")),
        ({"CURL_CA_BUNDLE": "/c"}, Authorities("/c")),
        ({"REQUESTS_CA_BUNDLE": "/r", "CURL_CA_BUNDLE": "/c"}, Authorities("/r")),
        ({"SSL_CERT_FILE": "/f", "REQUESTS_CA_BUNDLE": "/r"}, Authorities("/f")),
    ],
)
def test_authorities_are_where_the_usual_variables_say(given: dict[str, str], found: Authorities) -> None:
    assert Environment.read(given).network.authorities == found


def test_a_proxy_that_may_be_a_request_header_is_not_believed() -> None:
    assert Environment.read({"HTTP_PROXY": "evil", "REQUEST_METHOD": "GET"}).network.proxies == Proxies()


def test_the_real_environment_is_read_by_default() -> None:
    assert Environment.read().child_environment({})["PATH"] == os.environ["PATH"]


def test_folders_are_where_the_environment_says() -> None:
    assert Paths.read({"HOME": "/h"}) == Paths("/h", "/h/.bobstay", "/h/.claude", MANAGED)
    moved = Paths.read({"HOME": "/h", "BOBSTAY_HOME": "/b/", "CLAUDE_CONFIG_DIR": "/c"})
    assert (moved.bobstay, moved.claude, moved.sessions) == ("/b", "/c", "/b/sessions")
    assert moved.destinations("/p") == {
        "userSettings": "/b/settings.json",
        "projectSettings": "/p/.bobstay/settings.json",
        "localSettings": "/p/.bobstay/settings.local.json",
    }


def test_no_home_in_the_environment_is_no_fault() -> None:
    assert Paths.read({}).home.startswith("/")


def test_only_values_that_look_like_secrets_are_redacted_and_the_others_are_named() -> None:
    environ = {
        "PGPASSWORD": "password",
        "POSTGRES_PASSWORD": "postgres",
        "DATABASE_URL": "postgres://app:changeme@db/app",
        "REDIS_URL": "redis://app:f8Kq2Lm9xT@cache/0",
        "API_KEY": "q8Zr41LmNp0x",
        "SSL_KEY": "/etc/ssl/private.key",
        "MAX_TOKEN": "1000000000",
        "USE_SECRET": "true",
        "EMPTY_KEY": "",
    }
    assert secret_values(environ) == {"REDIS_URL": "f8Kq2Lm9xT", "API_KEY": "q8Zr41LmNp0x"}
    assert unredacted_names(environ) == ("PGPASSWORD", "POSTGRES_PASSWORD", "DATABASE_URL")


def test_a_person_may_pass_secrets_to_commands_but_keys_of_models_by_exact_name_only() -> None:
    environ = {"GH_TOKEN": "t", "DJANGO_SECRET_KEY": "d", "OPENAI_API_KEY": "o", "PATH": "/bin"}
    environment = Environment.read(environ)
    assert environment.child_environment({}) == {"PATH": "/bin"}
    assert environment.child_environment({}, ("GH_TOKEN",)) == {"PATH": "/bin", "GH_TOKEN": "t"}
    assert environment.child_environment({}, ("*",)) == {"PATH": "/bin", "GH_TOKEN": "t", "DJANGO_SECRET_KEY": "d"}
    assert "OPENAI_API_KEY" in environment.child_environment({}, ("OPENAI_API_KEY",))
