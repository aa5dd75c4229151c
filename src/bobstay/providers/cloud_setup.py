"""Builds the adapters of Amazon Bedrock and Google Vertex AI from variables, and names Claude models as they do."""

import re

from bobstay.http.client import HttpClient
from bobstay.providers.base import Provider
from bobstay.providers.cloud_access import CloudAccess, CloudVariables, FixedAccess, require_package

_OFF = frozenset({"", "0", "false", "no", "off"})
_REGION = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PROJECT = re.compile(r"[a-z0-9][a-z0-9.:-]{0,100}")
_DATED = re.compile(r"(claude-.*?)[-@](\d{8})")
_RELEASED = {
    "claude-haiku-4-5": "20251001",
    "claude-sonnet-4-5": "20250929",
    "claude-opus-4-5": "20251101",
    "claude-opus-4-1": "20250805",
    "claude-opus-4": "20250514",
    "claude-sonnet-4": "20250514",
    "claude-3-7-sonnet": "20250219",
}
"""The dates of the models whose names have one in both clouds; later ones have none."""
_VERSIONED = frozenset({"claude-opus-4-6"})
"""Models with a version in Bedrock, but no date."""
_PINNED = ("opus", "sonnet", "haiku", "fable")


class BadCloudVariableError(ValueError):
    """A variable has a value that cannot be used. The text says what to do."""


def is_on(keys: CloudVariables, name: str) -> bool:
    return keys.get(name).lower() not in _OFF


def locate_claude(alias: str, model: str, keys: CloudVariables) -> tuple[str, str]:
    """Return the provider of a Claude model, and its name there, as the variables of Claude Code say.

    `alias` is what the person wrote; one such as `opus` may be pinned to a model by a variable.
    """
    pinned = ""
    if alias in (*_PINNED, "default"):
        pinned = keys.get(f"ANTHROPIC_DEFAULT_{'OPUS' if alias == 'default' else alias.upper()}_MODEL")
    if is_on(keys, "CLAUDE_CODE_USE_BEDROCK"):
        return "bedrock", pinned or name_in_bedrock(model, keys.get("AWS_REGION", "AWS_DEFAULT_REGION"))
    if is_on(keys, "CLAUDE_CODE_USE_VERTEX"):
        return "vertex", pinned or name_in_vertex(model)
    return "anthropic", model


def name_in_bedrock(model: str, region: str) -> str:
    """Return the inference profile of a model: that of the region's part of the world, else the one for all."""
    place = next((place for place in ("us-gov", "us", "eu") if region.startswith(f"{place}-")), "global")
    name, date = _split_date(model)
    version = f"-{date}-v1:0" if date else "-v1" if name in _VERSIONED else ""
    return f"{place}.anthropic.{name}{version}"


def name_in_vertex(model: str) -> str:
    name, date = _split_date(model)
    return f"{name}@{date}" if date else name


def _split_date(model: str) -> tuple[str, str]:
    found = _DATED.fullmatch(model)
    return (found[1], found[2]) if found else (model, _RELEASED.get(model, ""))


def build_bedrock(http: HttpClient, keys: CloudVariables) -> Provider:
    """Build the adapter for Claude on Amazon Bedrock.

    Raises:
        MissingExtra: botocore is needed and not installed.
        BadCloudVariableError
    """
    from bobstay.providers.bedrock import Bedrock
    from bobstay.providers.bedrock_exchange import BedrockEndpoint

    region = _check(keys.get("AWS_REGION", "AWS_DEFAULT_REGION"), _REGION, "AWS_REGION", "us-east-1")
    base_url = keys.get("ANTHROPIC_BEDROCK_BASE_URL")
    token = keys.get("AWS_BEARER_TOKEN_BEDROCK")
    access: CloudAccess
    if is_on(keys, "CLAUDE_CODE_SKIP_BEDROCK_AUTH"):
        access = _gateway_access(keys, base_url, "BEDROCK")
    elif token:
        access = FixedAccess({"authorization": f"Bearer {token}"})
    else:
        require_package("botocore", "botocore", "bedrock", "Amazon Bedrock")
        from bobstay.providers.aws_access import AwsAccess

        access = AwsAccess({name: value.strip() for name, value in keys.values.items()}, keys.learn_secrets)
    return Bedrock(http, BedrockEndpoint(access, base_url, region, _headers("bedrock", base_url, keys)))


def build_vertex(http: HttpClient, keys: CloudVariables) -> Provider:
    """Build the adapter for Claude and Gemini on Google Vertex AI.

    Raises:
        MissingExtra: google-auth is needed and not installed.
        BadCloudVariableError
    """
    from bobstay.providers.vertex import Vertex
    from bobstay.providers.vertex_endpoint import VertexEndpoint

    named = keys.get("CLOUD_ML_REGION", "GOOGLE_CLOUD_LOCATION") or "global"
    region = _check(named, _REGION, "CLOUD_ML_REGION", "global")
    project = keys.get("ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT")
    _check(project, _PROJECT, "ANTHROPIC_VERTEX_PROJECT_ID", "my-project")
    base_url = keys.get("ANTHROPIC_VERTEX_BASE_URL")
    access: CloudAccess
    if is_on(keys, "CLAUDE_CODE_SKIP_VERTEX_AUTH"):
        access = _gateway_access(keys, base_url, "VERTEX")
    else:
        require_package("google.auth", "google-auth", "vertex", "Google Vertex AI")
        require_package("requests", "requests", "vertex", "Google Vertex AI")
        from bobstay.providers.google_access import GoogleAccess

        access = GoogleAccess(keys.learn_secrets)
    return Vertex(http, VertexEndpoint(access, region, project, base_url, _headers("vertex", base_url, keys)))


def _gateway_access(keys: CloudVariables, base_url: str, cloud: str) -> CloudAccess:
    if not base_url:
        raise BadCloudVariableError(
            f"CLAUDE_CODE_SKIP_{cloud}_AUTH is for a gateway that adds the credentials: set its address in "
            f"ANTHROPIC_{cloud}_BASE_URL, or unset CLAUDE_CODE_SKIP_{cloud}_AUTH."
        )
    token = keys.get("ANTHROPIC_AUTH_TOKEN")
    return FixedAccess({"authorization": f"Bearer {token}"} if token else {})


def _headers(provider: str, base_url: str, keys: CloudVariables) -> dict[str, str]:
    """Return the user's headers. Those for Anthropic or a gateway may hold a key of it, so the cloud gets none."""
    return {**(keys.headers if base_url else {}), **keys.added.get(provider, {})}


def _check(value: str, pattern: "re.Pattern[str]", variable: str, example: str) -> str:
    """Return the value if it can be a part of an address, which it becomes."""
    if value and not pattern.fullmatch(value):
        raise BadCloudVariableError(f"{variable} cannot be {value[:100]!r}. Set it to a value such as {example}.")
    return value
