"""Finds, reads and merges the settings files, strongest first; nothing broken is passed over in silence."""

import os
import stat
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.config.merge import merge
from bobstay.config.paths import FOLDERS, Paths, local_settings, project_settings
from bobstay.config.settings import KNOWN, Permissions, Settings
from bobstay.config.trust import UNKNOWN, standing

Source: TypeAlias = Literal["managed", "cli", "local", "project", "user"]

LARGEST = 1 << 20
OPTIONAL = ("local", "project", "user")
LISTS = ("allow", "ask", "deny")
RuleCheck: TypeAlias = Callable[[str, str], None]
"""Given a rule's text and list (`allow`, `ask`, `deny`), raises `ValueError` for one that means nothing."""


class BrokenSettings(Exception):  # noqa: N818 - it names a thing, not an event
    """A settings file that cannot be used. The text names the place and what was expected there."""

    def __init__(self, file: str, what: str, place: tuple[int, int] | None = None) -> None:
        self.file = file
        self.line, self.column = place or (0, 0)
        where = f"{file}:{self.line}:{self.column}" if place else file
        super().__init__(f"{where}: {what}")


class RuleText(Struct, frozen=True):
    """A permission rule as it was written."""

    text: str
    verdict: Literal["allow", "ask", "deny"]
    source: Source
    file: str


class SettingsLayer(Struct, frozen=True):
    source: Source
    file: str
    settings: Settings
    warnings: tuple[str, ...] = ()
    """What of the file was left out, and why; for a person."""
    foreign: bool = False
    """The file is another program's, which knows values that we do not."""


class LoadedSettings(Struct, frozen=True):
    settings: Settings
    """All sources merged."""
    rules: tuple[RuleText, ...] = ()
    """Permission rules of all sources, strongest source first."""
    layers: tuple[SettingsLayer, ...] = ()
    """What each file contributed, strongest first."""
    trusted: bool = False
    untrusted_notice: str = ""
    """What of this folder's settings was left out because nobody trusted it yet; for a person."""
    stored: bool = False
    """Trusted by the user's list, which is bound to the content of the folder."""
    warnings: tuple[str, ...] = ()
    """What of the files was left out, and why; for a person."""


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
        paths: Where the user's and the managed files are.
        settings: What `--settings` said: a path, or JSON text.
        setting_sources: Which of user, project and local to read; None for all, () for none of them.
        trust: Take this folder as trusted, whatever the user's settings say.
        check_rule: Looks at each permission rule while its file is still known.

    Raises:
        BrokenSettings: A file is there and cannot be used.
    """
    wanted = OPTIONAL if setting_sources is None else setting_sources
    user = _layers("user", paths.user_settings, foreign=paths.user_settings[1]) if "user" in wanted else []
    seen = {os.path.realpath(layer.file) for layer in user}
    layers = _layers("managed", (paths.managed,))
    if settings is not None:
        layers.append(_command_line(settings, cwd))
    found = _folder_files(cwd, wanted)
    # Trust is settled before anything these files say is looked at; the bytes judged are the bytes used.
    trusted = trust or _is_trusted(cwd, layers, user, paths)
    place = os.path.realpath(cwd)
    how = UNKNOWN if trusted else standing(place, paths, {place + file[len(cwd) :]: data for _, file, data in found})
    # In the home directory the project's files are the user's own: they count once.
    folder = [
        _decoded(source, file, data, foreign=os.path.basename(os.path.dirname(file)) == FOLDERS[1])
        for source, file, data in found
        if os.path.realpath(file) not in seen
    ]
    trusted = trusted or how.trusted
    notice = ""
    if not trusted and (folder or how is not UNKNOWN):
        from bobstay.config.trust_notice import untrusted_notice

        notice = untrusted_notice([(layer.file, layer.settings) for layer in folder], cwd, how)
    taken = frozenset(name for layer in (*layers, *user) for name in layer.settings.providers)
    folder = [_restricted(layer, trusted=trusted, taken=taken) for layer in folder]
    layers = [*layers, *folder, *user]
    return LoadedSettings(
        merge([layer.settings for layer in layers]),
        _rules(layers, check_rule),
        tuple(layers),
        trusted,
        notice,
        how.trusted,
        tuple(warning for layer in layers for warning in layer.warnings),
    )


def read_file(file: str) -> Settings | None:
    """The settings in a file; None if there is no such file. Raises `BrokenSettings`."""
    data = _bytes(file)
    return None if data is None else decode(data, file)


def raw_rules(file: str) -> dict[str, list[Any]]:
    """The permission lists of a file as they stand there, whatever is in them.

    Raises:
        BrokenSettings: it is no JSON.
    """
    data = (_bytes(file) or b"").removeprefix(b"\xef\xbb\xbf")
    try:
        found = msgspec.json.decode(data) if data.strip() else {}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _explained(error, data, file) from error
    permissions = found.get("permissions") if isinstance(found, dict) else None
    lists = {kind: permissions.get(kind) for kind in LISTS} if isinstance(permissions, dict) else {}
    return {kind: entries for kind, entries in lists.items() if isinstance(entries, list)}


def decode(data: bytes, file: str) -> Settings:
    """Settings from JSON text; `file` is what an error calls it."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        return Settings()
    try:
        raw = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        found = msgspec.json.decode(data, type=Settings)
        extra = {name: msgspec.json.decode(value) for name, value in raw.items() if name not in KNOWN}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _explained(error, data, file) from error
    found = msgspec.structs.replace(found, extra=extra)
    if found.providers:
        _check_providers(found, data, file)
    return found


def _decoded(source: Source, file: str, data: bytes, *, foreign: bool) -> SettingsLayer:
    """The settings of a file. What another program's file says, and we cannot use, is left out with a warning."""
    try:
        settings = decode(data, file)
        if foreign:  # said of that program's sessions, not of ours: nothing is removed that nobody asked to remove
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
        place = json_position.of_path(data, f"$.{error.path}")
        raise BrokenSettings(file, f"{error.path}: {error}", place) from error


def _bytes(file: str) -> bytes | None:
    try:
        # Not blocking: a pipe in the place of a file must not hang the start.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BrokenSettings(file, f"the settings file cannot be read: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise BrokenSettings(file, f"expected a settings file, but this is {kind}")
        if status.st_size > LARGEST:
            raise BrokenSettings(file, "the settings file is larger than 1 MiB")
        # A regular file this small comes in one piece, unless it shrinks: then the JSON is cut and says so.
        return os.read(descriptor, LARGEST)
    except OSError as error:
        raise BrokenSettings(file, f"the settings file cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)


def _explained(error: Exception, data: bytes, file: str) -> BrokenSettings:
    from bobstay.config import json_position

    text = str(error)
    if isinstance(error, RecursionError):
        return BrokenSettings(file, "not usable: its values are nested too deeply")
    if isinstance(error, msgspec.ValidationError):
        what, _, path = text.partition(" - at `")
        path = path.rstrip("`")
        if path.startswith("$.providers"):
            from bobstay.config.named_providers import named_path

            path = named_path(data, path)
        named = path.removeprefix("$.").removeprefix("$")
        what = f"{named}: {_lowered(what)}" if named else f"the file must hold a JSON object: {_lowered(what)}"
        return BrokenSettings(file, what, json_position.of_path(data, path or "$"))
    what, _, offset = text.rpartition(" (byte ")
    if what and offset.rstrip(")").isdigit():
        return BrokenSettings(file, f"not valid JSON: {what}", json_position.of_offset(data, int(offset.rstrip(")"))))
    if isinstance(error, UnicodeDecodeError):
        return BrokenSettings(file, "not valid UTF-8", json_position.of_offset(data, error.start))
    return BrokenSettings(file, f"not valid JSON: {text}", json_position.of_offset(data, len(data)))


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _layers(source: Source, files: tuple[str, ...], *, foreign: str = "") -> list[SettingsLayer]:
    found = ((file, _bytes(file)) for file in files)
    return [_decoded(source, file, data, foreign=file == foreign) for file, data in found if data is not None]


def _folder_files(cwd: str, wanted: tuple[str, ...]) -> list[tuple[Source, str, bytes]]:
    named: list[tuple[Source, str]] = []
    files: tuple[tuple[Source, tuple[str, ...]], ...] = (
        ("local", local_settings(cwd)),
        ("project", project_settings(cwd)),
    )
    for source, paths in files:
        if source in wanted:
            named.extend((source, file) for file in paths)
    return [(source, file, data) for source, file in named if (data := _bytes(file)) is not None]


def _command_line(text: str, cwd: str) -> SettingsLayer:
    if text.lstrip().startswith("{"):
        return SettingsLayer("cli", "--settings", decode(text.encode("utf-8", "surrogatepass"), "--settings"))
    file = os.path.join(cwd, os.path.expanduser(text))
    found = read_file(file)
    if found is None:
        raise BrokenSettings(file, "there is no such file (given with --settings)")
    return SettingsLayer("cli", file, found)


def _rules(layers: list[SettingsLayer], check: RuleCheck | None) -> tuple[RuleText, ...]:
    found: list[RuleText] = []
    lists: tuple[Literal["allow", "ask", "deny"], ...] = ("allow", "ask", "deny")
    for layer in layers:
        for verdict in lists:
            for index, text in enumerate(getattr(layer.settings.permissions, verdict)):
                if check is not None:
                    _check(check, text, verdict, layer, index)
                found.append(RuleText(text, verdict, layer.source, layer.file))
    return tuple(found)


def _check(check: RuleCheck, text: str, verdict: str, layer: SettingsLayer, index: int) -> None:
    try:
        check(text, verdict)
    except ValueError as error:
        from bobstay.config import json_position

        data = _bytes(layer.file) if layer.file != "--settings" else None
        place = json_position.of_path(data, f"$.permissions.{verdict}[{index}]") if data else None
        raise BrokenSettings(layer.file, f"permissions.{verdict}[{index}]: {error}", place) from error


def _is_trusted(cwd: str, layers: list[SettingsLayer], user: list[SettingsLayer], paths: Paths) -> bool:
    """Only files outside the folder can vouch for it."""
    vouching = [layer.settings for layer in (*layers, *user) if layer.source in ("managed", "user")]
    if not user:
        vouching += [settings for file in paths.user_settings if (settings := _vouching(file)) is not None]
    folder = os.path.realpath(cwd)
    home = paths.home
    for settings in vouching:
        for trusted in settings.trusted_folders:
            spelled = home + trusted[1:] if trusted == "~" or trusted.startswith("~/") else trusted
            if os.path.isabs(spelled) and os.path.realpath(spelled) == folder:
                return True
    return False


def _vouching(file: str) -> Settings | None:
    """User settings that were not asked for still say what is trusted; broken ones say nothing."""
    try:
        return read_file(file)
    except BrokenSettings:
        return None


def _restricted(layer: SettingsLayer, *, trusted: bool, taken: frozenset[str]) -> SettingsLayer:
    """What counts of a folder's file. `taken` are providers that others than the folder define."""
    if not trusted:
        return msgspec.structs.replace(layer, settings=_only_restrictions(layer.settings))
    settings = _without_redirects(layer.settings)
    settings = msgspec.structs.replace(settings, api_key_helper=None, cleanup_period_days=None)
    warnings: list[str] = []
    if settings.providers:
        from bobstay.config.named_providers import of_project

        settings, warnings = of_project(settings, taken, layer.file)
    return msgspec.structs.replace(layer, settings=settings, warnings=(*layer.warnings, *warnings))


def _only_restrictions(settings: Settings) -> Settings:
    return Settings(permissions=Permissions(ask=settings.permissions.ask, deny=settings.permissions.deny))


def _without_redirects(settings: Settings) -> Settings:
    """A trusted folder may choose where its own searches go, not where the user's keys are sent."""
    search = settings.search
    if search is None or not search.url or search.kind == "searxng":
        return settings
    return msgspec.structs.replace(settings, search=msgspec.structs.replace(search, url=None))
