"""Secrets of single sessions: environment variables and MCP configurations.

They are in no log and no frame.
"""

import re
from typing import Any

import msgspec
from sqlalchemy import select

from bobstay.config.provider_variables import ADDRESSES
from bobstay.redaction.randomness import looks_random
from bobstay.server.db import state_tables
from bobstay.server.db.database import Database
from bobstay.server.db.own_tables import session_env
from bobstay.server.errors import ApiError

MOST = 100
LONGEST = 32 * 1024
FORBIDDEN = frozenset(
    {
        # which code a shell or a program runs, and where it is found
        *(
            "PATH",
            "HOME",
            "SHELL",
            "BASH_ENV",
            "ENV",
            "SHELLOPTS",
            "BASHOPTS",
            "PS4",
            "PROMPT_COMMAND",
            "IFS",
            "CDPATH",
        ),
        *(
            "ZDOTDIR",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "GLIBC_TUNABLES",
            "GCONV_PATH",
            "IS_SANDBOX",
            "CLAUDE_CONFIG_DIR",
        ),
        *("EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "BROWSER", "SSH_ASKPASS", "SUDO_ASKPASS"),
        *("NODE_OPTIONS", "NODE_PATH", "NPM_CONFIG_USERCONFIG", "PERL5OPT", "PERL5LIB", "PERL5DB", "PERLLIB"),
        *("RUBYOPT", "RUBYLIB", "GEM_HOME", "GEM_PATH", "BUNDLE_GEMFILE", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"),
        *("JDK_JAVA_OPTIONS", "CLASSPATH", "PHPRC", "PHP_INI_SCAN_DIR", "LUA_INIT", "LUA_PATH", "LUA_CPATH"),
        *("R_PROFILE", "R_ENVIRON", "RUSTC_WRAPPER", "RUSTC", "CARGO_HOME", "MAKEFLAGS", "TCLLIBPATH"),
        *("GOFLAGS", "DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS"),
        *("GIT_SSH_COMMAND", "GIT_SSH", "GIT_ASKPASS", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_DIR"),
        *("GIT_EXTERNAL_DIFF", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_PROXY_COMMAND", "GIT_WORK_TREE"),
        *("GIT_ALLOW_PROTOCOL", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ATTR_SOURCE"),
        # where keys and requests are sent, and which certificates are trusted
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY", "WS_PROXY", "WSS_PROXY"),
        *("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy", "ws_proxy", "wss_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "CURL_HOME", "OPENSSL_CONF"),
        *("NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "GIT_SSL_NO_VERIFY", "GIT_SSL_CAINFO", "HOSTALIASES"),
        *("OPENAI_API_BASE", "SEARXNG_URL", "ANTHROPIC_CUSTOM_HEADERS", "RES_OPTIONS", "LOCALDOMAIN"),
        *ADDRESSES.values(),
    }
)
"""Variables that decide which code runs, or where keys are sent: only set where the server is started."""
FAMILIES = ("LD_", "DYLD_", "BOBSTAY_", "GIT_CONFIG", "GIT_TRACE", "CORECLR_")
"""Prefixes of such variables: `LD_PRELOAD`, `GIT_CONFIG_KEY_0`; also `GIT_TRACE`, which names a file that each git
command appends to. Compilers (`CC`, `CXX`) are allowed: choosing one is common, and only builds run it."""
PYTHON = re.compile(r"PYTHON[A-Z]+")
HARMLESS_PYTHON = frozenset(
    {
        *("PYTHONUNBUFFERED", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUTF8"),
        *("PYTHONOPTIMIZE", "PYTHONFAULTHANDLER", "PYTHONTRACEMALLOC", "PYTHONASYNCIODEBUG", "PYTHONDEVMODE"),
        *("PYTHONVERBOSE", "PYTHONNOUSERSITE", "PYTHONSAFEPATH"),
    }
)
"""Variables of the interpreter that do not name code to run, as many others do."""
MCP_CONFIG = ":mcp_config"
"""The row with the configuration of MCP servers as JSON; no variable can have this name."""


class SessionSecrets:
    """Secrets by session; stored in the database, and cached so that starting an agent need not wait for it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, dict[str, str]] = {}

    async def load(self) -> None:
        async with self._database.read_transaction() as connection:
            for row in await connection.execute(select(session_env)):
                self._known.setdefault(row.session_id, {})[row.name] = row.value

    def variables_of(self, session_id: str) -> dict[str, str]:
        """The environment variables of a session."""
        return {name: value for name, value in self._known.get(session_id, {}).items() if name != MCP_CONFIG}

    def mcp_config(self, session_id: str) -> dict[str, Any]:
        """The MCP configuration of a session, as given."""
        text = self._known.get(session_id, {}).get(MCP_CONFIG)
        return msgspec.json.decode(text, type=dict[str, Any]) if text else {}

    def mcp_json(self, session_id: str) -> str:
        """The MCP configuration of a session as `--mcp-config` takes it; empty if there is none."""
        given = self.mcp_config(session_id)
        if not given:
            return ""
        return msgspec.json.encode(given if "mcpServers" in given else {"mcpServers": given}).decode()

    async def set(self, session_id: str, variables: dict[str, str], mcp_config: dict[str, Any] | None = None) -> None:
        rows = dict(variables)
        if mcp_config:
            rows[MCP_CONFIG] = msgspec.json.encode(mcp_config).decode()
        await state_tables.set_environment(self._database, session_id, rows)
        self._known[session_id] = rows

    async def copy(self, parent: str, child: str) -> None:
        """Copy the secrets of a session to a session that continues it."""
        if rows := self._known.get(parent):
            await state_tables.set_environment(self._database, child, rows)
            self._known[child] = dict(rows)

    async def delete(self, session_id: str) -> None:
        """Delete all secrets of a session."""
        if self._known.pop(session_id, None):
            await state_tables.set_environment(self._database, session_id, {})
            await self._database.truncate_wal()


def server_names(mcp_config: dict[str, Any]) -> tuple[str, ...]:
    """The names of the MCP servers in a configuration: all that may be shown of it."""
    inner = mcp_config.get("mcpServers", mcp_config)
    return tuple(str(name)[:300] for name in list(inner)[:MOST]) if isinstance(inner, dict) else ()


def server_secrets(mcp_config: dict[str, Any]) -> dict[str, str]:
    """The secrets in a configuration that must be redacted: variables, headers and passwords of its servers."""
    inner = mcp_config.get("mcpServers", mcp_config)
    found: dict[str, str] = {}
    for name, server in inner.items() if isinstance(inner, dict) else ():
        if not isinstance(server, dict):
            continue
        for part in ("env", "headers"):
            values = server.get(part)
            for key, value in values.items() if isinstance(values, dict) else ():
                bare = str(value).rpartition(" ")[2] if part == "headers" else str(value)
                if looks_random(bare):
                    found[f"{name} {key}"[:100]] = bare
    return found


def check_variables(variables: dict[str, str]) -> None:
    """Raises:
    ApiError: a name or a value is invalid, or must not be set by a session.
    """
    if len(variables) > MOST:
        raise ApiError("invalid", f"A session has at most {MOST} variables of its own.")
    for name, value in variables.items():
        if not name.replace("_", "a").isalnum() or not name.isascii() or name[0].isdigit():
            raise ApiError("invalid", f"{name[:80]!r} cannot be the name of a variable.")
        if _is_forbidden(name):
            raise ApiError(
                "forbidden",
                f"{name[:80]} decides which code runs or where keys are sent: set it where the server is started.",
            )
        if "\0" in value or len(value) > LONGEST:
            raise ApiError("invalid", f"The value of {name[:80]} is too long, or holds a NUL.")


def _is_forbidden(name: str) -> bool:
    python = PYTHON.fullmatch(name) is not None and name not in HARMLESS_PYTHON
    return name in FORBIDDEN or name.startswith(FAMILIES) or python
