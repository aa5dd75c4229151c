"""The process environment: reads every variable that bobstay uses, once, into typed fields."""

import os
from collections.abc import Mapping

from msgspec import Struct

from bobstay.config.paths import Paths
from bobstay.config.provider_variables import CLOUD_SWITCHES, CLOUD_VARIABLES, HEADERS
from bobstay.config.secret_variables import (
    PROVIDER_VARIABLES,
    SEARCH_VARIABLES,
    is_provider_key,
    is_secret,
    remove_secrets,
    secret_values,
    select_passed,
    unredacted_names,
)
from bobstay.http.network import Authorities, Network
from bobstay.http.proxies import Proxies

FALSE_VALUES = frozenset({"", "0", "false", "no", "off"})


class Environment(Struct, frozen=True):
    paths: Paths
    keys: dict[str, str] = {}
    """Keys and addresses of model providers, by variable name."""
    search: dict[str, str] = {}
    """The same for web search."""
    headers: dict[str, str] = {}
    """Extra headers for requests to Anthropic, from `ANTHROPIC_CUSTOM_HEADERS` (`Name: value` lines)."""
    network: Network = Network()
    """The proxies to go through and the certificate authorities to trust."""
    model: str = ""
    entrypoint: str = ""
    """The program that drives this one: `sdk-py`, `sdk-ts`, ..."""
    host_version: str = ""
    reads_session_state: bool = False
    emits_session_state: bool = False
    file_checkpointing: bool = False
    in_sandbox: bool = False
    """The whole process runs in a sandbox already, so that root may bypass permissions."""
    added_instructions: bool = False
    """Whether the instruction files of additional directories count."""
    task_tools: bool | None = None
    """Whether the model keeps single tasks; None if the variable is not set."""
    max_retries: int | None = None
    max_output_tokens: int | None = None
    bash_timeout_ms: int | None = None
    bash_longest_ms: int | None = None
    bash_output_length: int | None = None
    background_wait_ms: int | None = None
    stop_hook_blocks: int | None = None
    """How often in a row a Stop hook may make the model continue."""
    api_timeout_ms: int | None = None
    mcp_timeout_ms: int | None = None
    """How long an MCP server may take to connect."""
    mcp_tool_timeout_ms: int | None = None
    mcp_output_tokens: int | None = None
    """Tokens of an MCP tool's result shown to the model."""
    tool_search: str = ""
    """Which tools are deferred: `true`, `false`, `auto` or `auto:N`; "" if it is not set."""
    debug: bool = False
    secrets: dict[str, str] = {}
    """Values that must not be stored or shown, by variable name."""
    unredacted: tuple[str, ...] = ()
    """Variables whose names suggest a secret but whose values are ordinary words."""
    withheld: dict[str, str] = {}
    """Variables that child processes do not inherit because their names suggest secrets."""
    children: dict[str, str] = {}
    """Variables that child processes inherit: everything but secrets."""
    stored: dict[str, str] = {}
    """Keys that the user stored, by provider."""
    key_variables: frozenset[str] = frozenset()
    """Variables that hold the keys of providers that the settings define."""
    folder_variables: frozenset[str] = frozenset()
    """Variables whose values come from the settings of a trusted folder."""
    all_variables: Mapping[str, str] = {}
    """All variables, for lookups by names that the settings give; never shown or passed on."""

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None) -> "Environment":
        """Read the environment of this process, or the one given."""
        source = os.environ if environ is None else environ
        return cls(
            paths=Paths.read(source),
            keys={name: source[name] for name in (*PROVIDER_VARIABLES, *CLOUD_VARIABLES) if source.get(name)},
            search={name: source[name] for name in SEARCH_VARIABLES if source.get(name)},
            headers=_parse_headers(source.get(HEADERS, "")),
            network=Network(_read_proxies(source), _read_authorities(source)),
            model=source.get("BOBSTAY_MODEL") or source.get("ANTHROPIC_MODEL", ""),
            entrypoint=source.get("CLAUDE_CODE_ENTRYPOINT", ""),
            host_version=source.get("CLAUDE_AGENT_SDK_VERSION", ""),
            reads_session_state=_read_switch(source, "CLAUDE_CODE_SDK_READS_SESSION_STATE"),
            emits_session_state=_read_switch(source, "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"),
            file_checkpointing=_read_switch(source, "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"),
            in_sandbox=_read_switch(source, "IS_SANDBOX"),
            added_instructions=_read_switch(source, "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"),
            task_tools=_read_switch(source, variable) if (variable := "CLAUDE_CODE_ENABLE_TASKS") in source else None,
            max_retries=_read_number(source, "CLAUDE_CODE_MAX_RETRIES"),
            max_output_tokens=_read_number(source, "CLAUDE_CODE_MAX_OUTPUT_TOKENS"),
            bash_timeout_ms=_read_number(source, "BASH_DEFAULT_TIMEOUT_MS"),
            bash_longest_ms=_read_number(source, "BASH_MAX_TIMEOUT_MS"),
            bash_output_length=_read_number(source, "BASH_MAX_OUTPUT_LENGTH"),
            background_wait_ms=_read_number(source, "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS"),
            stop_hook_blocks=_read_number(source, "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"),
            api_timeout_ms=_read_number(source, "API_TIMEOUT_MS"),
            mcp_timeout_ms=_read_number(source, "MCP_TIMEOUT"),
            mcp_tool_timeout_ms=_read_number(source, "MCP_TOOL_TIMEOUT"),
            mcp_output_tokens=_read_number(source, "MAX_MCP_OUTPUT_TOKENS"),
            tool_search=source.get("ENABLE_TOOL_SEARCH", "").strip().lower(),
            debug=_read_switch(source, "BOBSTAY_DEBUG"),
            secrets=secret_values(source),
            unredacted=unredacted_names(source),
            withheld={name: value for name, value in source.items() if is_secret(name)},
            children=remove_secrets(source),
            all_variables=dict(source),
        )

    def is_model_key(self, name: str) -> bool:
        """Whether a variable holds a model key: child processes get it only if the user names it."""
        return is_provider_key(name) or name.upper() == HEADERS or name in self.key_variables

    def child_environment(self, extra: Mapping[str, str], passing: tuple[str, ...] = ()) -> dict[str, str]:
        """Return the variables of a child process: the inherited ones, the secrets that the user passes on (`passing`
        has names and patterns), then `extra` from the settings.
        """
        return {
            **self.children,
            **(select_passed(self.withheld, passing, self.key_variables) if passing else {}),
            **extra,
        }


def find_cloud_switches(keys: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables that say that a cloud offers Claude, if they are on."""
    return tuple(name for name in CLOUD_SWITCHES if _read_switch(keys, name))


def _read_switch(source: Mapping[str, str], name: str) -> bool:
    return source.get(name, "").strip().lower() not in FALSE_VALUES


def _read_number(source: Mapping[str, str], name: str) -> int | None:
    """Read a whole number; None if there is none, since a typo must not stop the program."""
    value = source.get(name, "").strip()
    return int(value) if value.isascii() and value.isdigit() and len(value) <= 12 else None


def _read_proxies(source: Mapping[str, str]) -> Proxies:
    """Read the proxies from the usual variables; lower case wins."""
    found: dict[str, str] = {}
    for kind in ("http", "https", "all", "no"):
        # Under CGI, an upper-case HTTP_PROXY may come from a request header.
        upper = "" if kind == "http" and "REQUEST_METHOD" in source else source.get(f"{kind.upper()}_PROXY", "")
        found[kind] = source.get(f"{kind}_proxy", "") or upper
    return Proxies(**found)


def _read_authorities(source: Mapping[str, str]) -> Authorities:
    file = source.get("SSL_CERT_FILE") or source.get("REQUESTS_CA_BUNDLE") or source.get("CURL_CA_BUNDLE", "")
    return Authorities(file, source.get("SSL_CERT_DIR", ""), source.get("NODE_EXTRA_CA_CERTS", ""))


def _parse_headers(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip():
            found[name.strip()] = value.strip()
    return found
