"""Finds, reads and merges the settings files in order of precedence; a broken file is an error."""

import errno
import os
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.config.merge import merge
from bobstay.config.paths import FOLDERS, Paths, local_settings, project_settings
from bobstay.config.settings import KNOWN_KEYS, Permissions, Settings
from bobstay.config.trust import UNKNOWN, check_trust
from bobstay.system.safe_read import NotRegularFile, open_regular, read_up_to

Source: TypeAlias = Literal["managed", "cli", "local", "project", "user"]

MAX_SIZE = 1 << 20
OPTIONAL = ("local", "project", "user")
BEHAVIOR_LISTS: tuple[Literal["allow", "ask", "deny"], ...] = ("allow", "ask", "deny")
RuleCheck: TypeAlias = Callable[[str, str], None]
"""Called with a rule's text and list (`allow`, `ask`, `deny`); raises `ValueError` if it cannot be parsed."""


class BrokenSettings(Exception):  # noqa: N818 - the name says what happened
    """A settings file cannot be used. The text says where the problem is and what was expected."""

    def __init__(self, file: str, what: str, position: tuple[int, int] | None = None) -> None:
        self.file = file
        self.line, self.column = position or (0, 0)
        where = f"{file}:{self.line}:{self.column}" if position else file
        super().__init__(f"{where}: {what}")


class RuleText(Struct, frozen=True):
    """A permission rule as it was written."""

    text: str
    behavior: Literal["allow", "ask", "deny"]
    source: Source
    file: str


class SettingsLayer(Struct, frozen=True):
    source: Source
    file: str
    settings: Settings
    warnings: tuple[str, ...] = ()
    """Which values of the file are ignored, and why; for a person."""
    foreign: bool = False
    """The file belongs to another program and may contain values that bobstay does not know."""


class LoadedSettings(Struct, frozen=True):
    settings: Settings
    """All sources merged."""
    rules: tuple[RuleText, ...] = ()
    """Permission rules of all sources, in order of precedence."""
    layers: tuple[SettingsLayer, ...] = ()
    """The settings of each file, in order of precedence."""
    trusted: bool = False
    untrusted_notice: str = ""
    """Which of this folder's settings are ignored because it is not trusted; for a person."""
    stored: bool = False
    """Trusted by the user's list, which is bound to the content of the folder."""
    warnings: tuple[str, ...] = ()
    """Which values of the files are ignored, and why; for a person."""


def load(
    cwd: str,
    paths: Paths,
    *,
    settings: str | None = None,
    setting_sources: tuple[str, ...] | None = None,
    trust: bool = False,
    check_rule: RuleCheck | None = None,
) -> LoadedSettings:
    """Read all settings that apply in `cwd`.

    Args:
        cwd: The session's directory.
        paths: The paths of the user's and the managed files.
        settings: The value of `--settings`: a path, or JSON text.
        setting_sources: Which of user, project and local to read; None for all, () for none of them.
        trust: Trust this folder, whatever the user's settings say.
        check_rule: Called for each permission rule while its file is still known.

    Raises:
        BrokenSettings: A file exists and cannot be used.
    """
    wanted = OPTIONAL if setting_sources is None else setting_sources
    user = _read_layers("user", paths.user_settings, foreign=paths.user_settings[1]) if "user" in wanted else []
    seen = {os.path.realpath(layer.file) for layer in user}
    layers = _read_layers("managed", (paths.managed,))
    if settings is not None:
        layers.append(_read_command_line(settings, cwd))
    found = _read_folder_files(cwd, wanted)
    # Trust is decided before the content of these files is interpreted; the bytes checked are the bytes used.
    trusted = trust or _is_trusted(cwd, layers, user, paths)
    real = os.path.realpath(cwd)
    known = {real + file[len(cwd) :]: data for _, file, data in found}
    status = UNKNOWN if trusted else check_trust(real, paths, known)
    # In the home directory the project's files are the user's own, and are used once.
    folder = [
        _decode_layer(source, file, data, foreign=os.path.basename(os.path.dirname(file)) == FOLDERS[1])
        for source, file, data in found
        if os.path.realpath(file) not in seen
    ]
    trusted = trusted or status.trusted
    notice = ""
    if not trusted and (folder or status is not UNKNOWN):
        from bobstay.config.trust_notice import untrusted_notice

        notice = untrusted_notice([(layer.file, layer.settings) for layer in folder], cwd, status)
    taken = frozenset(name for layer in (*layers, *user) for name in layer.settings.providers)
    folder = [_restrict_layer(layer, trusted=trusted, taken=taken) for layer in folder]
    layers = [*layers, *folder, *user]
    return LoadedSettings(
        merge([layer.settings for layer in layers]),
        _collect_rules(layers, check_rule),
        tuple(layers),
        trusted,
        notice,
        status.trusted,
        tuple(warning for layer in layers for warning in layer.warnings),
    )


def read_file(file: str) -> Settings | None:
    """Read the settings in a file; None if there is no such file. Raises `BrokenSettings`."""
    data = _read_bytes(file)
    return None if data is None else decode(data, file)


def read_raw_rules(file: str) -> dict[str, list[Any]]:
    """Read the permission lists of a file without validating their entries.

    Raises:
        BrokenSettings: the file is not JSON.
    """
    data = (_read_bytes(file) or b"").removeprefix(b"\xef\xbb\xbf")
    try:
        found = msgspec.json.decode(data) if data.strip() else {}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _explain(error, data, file) from error
    permissions = found.get("permissions") if isinstance(found, dict) else None
    lists = {kind: permissions.get(kind) for kind in BEHAVIOR_LISTS} if isinstance(permissions, dict) else {}
    return {kind: entries for kind, entries in lists.items() if isinstance(entries, list)}


def decode(data: bytes, file: str) -> Settings:
    """Decode settings from JSON text; `file` is its name in errors."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        return Settings()
    try:
        raw = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        found = msgspec.json.decode(data, type=Settings)
        extra = {name: msgspec.json.decode(value) for name, value in raw.items() if name not in KNOWN_KEYS}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _explain(error, data, file) from error
    found = msgspec.structs.replace(found, extra=extra)
    if found.providers:
        _check_providers(found, data, file)
    return found


def _decode_layer(source: Source, file: str, data: bytes, *, foreign: bool) -> SettingsLayer:
    """Decode the settings of a file. Unusable values of another program's file are ignored with a warning."""
    try:
        settings = decode(data, file)
        if foreign:  # it is meant for that program's sessions: ours are removed only on request
            settings = msgspec.structs.replace(settings, cleanup_period_days=None)
        return SettingsLayer(source, file, settings, foreign=foreign)
    except BrokenSettings:
        if not foreign:
            raise
        from bobstay.config.tolerant_decoding import decode_tolerant

        try:
            settings, warnings = decode_tolerant(data.removeprefix(b"\xef\xbb\xbf"), file)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            settings, warnings = Settings(), []
        if not warnings:
            raise
        return SettingsLayer(source, file, settings, tuple(warnings), foreign=True)


def _check_providers(settings: Settings, data: bytes, file: str) -> None:
    from bobstay.config import json_position
    from bobstay.config.named_providers import BadProviderError, check_providers

    try:
        check_providers(settings)
    except BadProviderError as error:
        position = json_position.locate_path(data, f"$.{error.path}")
        raise BrokenSettings(file, f"{error.path}: {error}", position) from error


def _read_bytes(file: str) -> bytes | None:
    try:
        descriptor = open_regular(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except NotRegularFile as error:
        kind = "a directory" if error.errno == errno.EISDIR else "not a regular file"
        raise BrokenSettings(file, f"expected a settings file, but this is {kind}") from None
    except OSError as error:
        raise BrokenSettings(file, f"the settings file cannot be read: {error.strerror}") from error
    try:
        if os.fstat(descriptor).st_size > MAX_SIZE:
            raise BrokenSettings(file, "the settings file is larger than 1 MiB")
        return read_up_to(descriptor, MAX_SIZE)
    except OSError as error:
        raise BrokenSettings(file, f"the settings file cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)


def _explain(error: Exception, data: bytes, file: str) -> BrokenSettings:
    from bobstay.config import json_position

    text = str(error)
    if isinstance(error, RecursionError):
        return BrokenSettings(file, "not usable: its values are nested too deeply")
    if isinstance(error, msgspec.ValidationError):
        what, _, path = text.partition(" - at `")
        path = path.rstrip("`")
        if path.startswith("$.providers"):
            from bobstay.config.named_providers import resolve_provider_path

            path = resolve_provider_path(data, path)
        named = path.removeprefix("$.").removeprefix("$")
        what = f"{named}: {_lower_first(what)}" if named else f"the file must hold a JSON object: {_lower_first(what)}"
        return BrokenSettings(file, what, json_position.locate_path(data, path or "$"))
    what, _, offset = text.rpartition(" (byte ")
    if what and offset.rstrip(")").isdigit():
        return BrokenSettings(
            file, f"not valid JSON: {what}", json_position.locate_offset(data, int(offset.rstrip(")")))
        )
    if isinstance(error, UnicodeDecodeError):
        return BrokenSettings(file, "not valid UTF-8", json_position.locate_offset(data, error.start))
    return BrokenSettings(file, f"not valid JSON: {text}", json_position.locate_offset(data, len(data)))


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _read_layers(source: Source, files: tuple[str, ...], *, foreign: str = "") -> list[SettingsLayer]:
    found = ((file, _read_bytes(file)) for file in files)
    return [_decode_layer(source, file, data, foreign=file == foreign) for file, data in found if data is not None]


def _read_folder_files(cwd: str, wanted: tuple[str, ...]) -> list[tuple[Source, str, bytes]]:
    named: list[tuple[Source, str]] = []
    files: tuple[tuple[Source, tuple[str, ...]], ...] = (
        ("local", local_settings(cwd)),
        ("project", project_settings(cwd)),
    )
    for source, paths in files:
        if source in wanted:
            named.extend((source, file) for file in paths)
    return [(source, file, data) for source, file in named if (data := _read_bytes(file)) is not None]


def _read_command_line(text: str, cwd: str) -> SettingsLayer:
    if text.lstrip().startswith("{"):
        return SettingsLayer("cli", "--settings", decode(text.encode("utf-8", "surrogatepass"), "--settings"))
    file = os.path.join(cwd, os.path.expanduser(text))
    found = read_file(file)
    if found is None:
        raise BrokenSettings(file, "there is no such file (given with --settings)")
    return SettingsLayer("cli", file, found)


def _collect_rules(layers: list[SettingsLayer], check: RuleCheck | None) -> tuple[RuleText, ...]:
    found: list[RuleText] = []
    for layer in layers:
        for behavior in BEHAVIOR_LISTS:
            for index, text in enumerate(getattr(layer.settings.permissions, behavior)):
                if check is not None:
                    _check_rule(check, text, behavior, layer, index)
                found.append(RuleText(text, behavior, layer.source, layer.file))
    return tuple(found)


def _check_rule(check: RuleCheck, text: str, behavior: str, layer: SettingsLayer, index: int) -> None:
    try:
        check(text, behavior)
    except ValueError as error:
        from bobstay.config import json_position

        data = _read_bytes(layer.file) if layer.file != "--settings" else None
        position = json_position.locate_path(data, f"$.permissions.{behavior}[{index}]") if data else None
        raise BrokenSettings(layer.file, f"permissions.{behavior}[{index}]: {error}", position) from error


def _is_trusted(cwd: str, layers: list[SettingsLayer], user: list[SettingsLayer], paths: Paths) -> bool:
    """Whether settings trust the folder; only files outside it count."""
    vouching = [layer.settings for layer in (*layers, *user) if layer.source in ("managed", "user")]
    if not user:
        vouching += [
            settings for file in paths.user_settings if (settings := _read_vouching_settings(file)) is not None
        ]
    folder = os.path.realpath(cwd)
    for settings in vouching:
        for trusted in settings.trusted_folders:
            expanded = paths.home + trusted[1:] if trusted == "~" or trusted.startswith("~/") else trusted
            if os.path.isabs(expanded) and os.path.realpath(expanded) == folder:
                return True
    return False


def _read_vouching_settings(file: str) -> Settings | None:
    """Read user settings that were not requested, for their trusted folders; broken ones are ignored."""
    try:
        return read_file(file)
    except BrokenSettings:
        return None


def _restrict_layer(layer: SettingsLayer, *, trusted: bool, taken: frozenset[str]) -> SettingsLayer:
    """Remove from a folder's file what it may not set. `taken` are the providers defined outside the folder."""
    if not trusted:
        return msgspec.structs.replace(layer, settings=_keep_restrictions(layer.settings))
    settings = _remove_redirects(layer.settings)
    settings = msgspec.structs.replace(settings, api_key_helper=None, cleanup_period_days=None)
    warnings: list[str] = []
    if settings.providers:
        from bobstay.config.named_providers import filter_project_providers

        settings, warnings = filter_project_providers(settings, taken, layer.file)
    return msgspec.structs.replace(layer, settings=settings, warnings=(*layer.warnings, *warnings))


def _keep_restrictions(settings: Settings) -> Settings:
    kept = Permissions(ask=settings.permissions.ask, deny=settings.permissions.deny)
    return Settings(permissions=kept, disabled_mcpjson_servers=settings.disabled_mcpjson_servers)


def _remove_redirects(settings: Settings) -> Settings:
    """Remove a search URL that would get the user's key: a trusted folder may not choose where keys are sent."""
    search = settings.search
    if search is None or not search.url or search.kind == "searxng":
        return settings
    return msgspec.structs.replace(settings, search=msgspec.structs.replace(search, url=None))
