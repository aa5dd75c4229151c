"""`bobstay doctor`: one line for each thing that must be in place, and what to do where it is not.

It calls nobody over the network, starts nothing of the folder it stands in, and shows names of keys, never keys.
"""

import os
import sys
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.config.environment import Environment
from bobstay.config.paths import local_settings, project_settings
from bobstay.config.secret_variables import PROVIDER_VARIABLES
from bobstay.config.settings_files import BrokenSettings, LoadedSettings, load, read_file
from bobstay.redaction.redactor import Redactor
from bobstay.system.child_process import find_program

State: TypeAlias = Literal["ok", "warn", "fail"]

OLDEST_PYTHON = (3, 11)
MUCH_OUTPUT = 1 << 30
"""Bytes of kept output from which on a person may want some of their disk back."""
MOST_NOTES = 2_000
"""Files looked at in a folder that may hold any number of them."""


DEFAULT_PORT = 3001
USAGE = """\
Usage: bobstay doctor [--json] [--port N] [--db URL]
Looks whether everything is in place here. Port and database are those the console would be started with.
"""


class DoctorOptions(Struct):
    json: bool = False
    port: int = DEFAULT_PORT
    database: str = ""


class Finding(Struct, frozen=True):
    check: str
    state: State
    text: str
    fix: str = ""


def run(arguments: list[str]) -> int:
    """Returns 1 if anything fails."""
    wish = _wish(arguments)
    if wish is None:
        sys.stderr.write(USAGE)
        return 0 if arguments[0] in ("--help", "-h") else 1
    environment = Environment.read()
    mask = Redactor(environment.secrets)
    found = [mask.value(finding) for finding in examine(os.getcwd(), environment, wish)]
    if wish.json:
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    else:
        for finding in found:
            sys.stdout.write(f"{finding.state:<5} {finding.check:<12} {finding.text}\n")
            if finding.fix:
                sys.stdout.write(f"{'':<18} -> {finding.fix}\n")
    return 1 if any(finding.state == "fail" for finding in found) else 0


def _wish(arguments: list[str]) -> "DoctorOptions | None":
    """What is asked for; None if that cannot be understood."""
    wish = DoctorOptions(port=_number(os.environ.get("PORT", "")) or DEFAULT_PORT)
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if word == "--json":
            wish.json = True
        elif name == "--db" and (given := value if equals else next(words, "")):
            wish.database = given
        elif name == "--port" and (number := _number(value if equals else next(words, ""))):
            wish.port = number
        else:
            return None
    return wish


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 5 and int(text) < 65_536 else 0


def examine(cwd: str, environment: Environment, wish: "DoctorOptions | None" = None) -> Iterator[Finding]:
    """All checks, in the order a start needs them; last what the console's server needs."""
    from bobstay.cli.doctor_server import server_findings

    yield _python()
    yield from _home(environment)
    yield from _sessions(environment)
    broken = list(_settings(cwd, environment))
    yield from broken
    loaded = None
    if not any(finding.state == "fail" for finding in broken):
        loaded = load(cwd, environment.paths)
    yield _keys(environment)
    yield _redaction(environment)
    yield _model(environment, loaded)
    yield from _programs(environment)
    yield _sandbox(cwd, environment)
    if loaded is not None:
        yield _trust(loaded)
        yield from _rules(cwd, environment)
    yield _output(environment)
    given = wish or DoctorOptions()
    for check, state, text, fix in server_findings(environment.paths.bobstay, given.port, given.database):
        yield Finding(check, state, text, fix)


def _redaction(environment: Environment) -> Finding:
    if not environment.unredacted:
        return Finding("redaction", "ok", f"{len(environment.secrets)} secret values of the environment are redacted")
    names = ", ".join(environment.unredacted)
    return Finding(
        "redaction",
        "warn",
        f"not redacted, because the values are ordinary words or too short: {names}",
        "Use generated values where that matters; redacting ordinary words would make code unreadable.",
    )


def _python() -> Finding:
    from bobstay.version import __version__

    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Finding("python", "fail", f"Python {version} is too old", "Install Python 3.11 or newer.")
    return Finding("python", "ok", f"bobstay {__version__} on Python {version} ({sys.executable})")


def _home(environment: Environment) -> Iterator[Finding]:
    home = environment.paths.bobstay
    existing = home
    while not os.path.exists(existing) and os.path.dirname(existing) != existing:
        existing = os.path.dirname(existing)
    if not os.path.isdir(existing):
        yield Finding("home", "fail", f"{existing} is no directory", "Move that file, or set BOBSTAY_HOME.")
    elif not os.access(existing, os.W_OK | os.X_OK):
        yield Finding("home", "fail", f"{home} cannot be written", f"Make {existing} yours, or set BOBSTAY_HOME.")
    else:
        made = "" if existing == home else " (not there yet; made when it is needed)"
        yield Finding("home", "ok", f"{home}{made}")
        mode = os.stat(existing).st_mode & 0o777 if existing == home else 0
        if mode & 0o022:
            yield Finding("home", "warn", f"others may write in {home} (mode {mode:o})", f"chmod go-w {home}")


def _sessions(environment: Environment) -> Iterator[Finding]:
    folder = environment.paths.sessions
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        yield Finding("sessions", "ok", "none yet")
        return
    except OSError as error:
        yield Finding("sessions", "fail", f"{folder}: {error.strerror}", f"Make {folder} yours, or set BOBSTAY_HOME.")
        return
    logs = [name for name in names if name.endswith(".jsonl")]
    closed = [name for name in logs if not os.access(os.path.join(folder, name), os.R_OK | os.W_OK)]
    if closed:
        text = f"{len(closed)} of {len(logs)} sessions cannot be read and written, such as {closed[0]}"
        yield Finding("sessions", "warn", text, f"See who owns the files in {folder}.")
    else:
        yield Finding("sessions", "ok", f"{len(logs)} in {folder}")
    yield _locks(folder, logs)


def _locks(folder: str, logs: list[str]) -> Finding:
    """Whether sessions can be locked here, and who holds which."""
    import fcntl

    busy, stale = [], []
    for name in logs[-MOST_NOTES:]:
        note = os.path.join(folder, name.removesuffix(".jsonl") + ".lease")
        try:
            descriptor = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if os.path.exists(note):
                stale.append(name)
        except BlockingIOError:
            busy.append(name)
        except OSError as error:
            what = f"{folder} is on a file system without locks ({error.strerror})"
            return Finding("locks", "fail", what, "Set BOBSTAY_HOME to a directory on a local disk.")
        finally:
            os.close(descriptor)
    if stale:
        what = f"{len(stale)} sessions ended without closing, such as {stale[-1].removesuffix('.jsonl')}"
        return Finding("locks", "ok", f"{what}: resuming one takes it up again")
    return Finding("locks", "ok", f"{len(busy)} sessions are open now" if busy else "no session is open now")


def _settings(cwd: str, environment: Environment) -> Iterator[Finding]:
    """Each file by itself, so that one broken file does not hide another."""
    from bobstay.permissions.rule import check

    paths = environment.paths
    files = dict.fromkeys((paths.managed, *local_settings(cwd), *project_settings(cwd), *paths.user_settings))
    good = []
    for file in files:
        try:
            settings = read_file(file)
            if settings is None:
                continue
            _check_rules(file, check)
            good.append(file)
        except BrokenSettings as error:
            yield Finding("settings", "fail", str(error), "Mend that place: bobstay does not start with it.")
    yield Finding("settings", "ok", ", ".join(good) if good else "no settings files")


def _check_rules(file: str, check: Callable[[str, str], None]) -> None:
    """Raises `BrokenSettings` with the place of the first rule that means nothing."""
    from bobstay.config import json_position

    settings = read_file(file)
    assert settings is not None
    for kind in ("allow", "ask", "deny"):
        for index, text in enumerate(getattr(settings.permissions, kind)):
            try:
                check(text, kind)
            except ValueError as error:
                with open(file, "rb") as opened:
                    place = json_position.of_path(opened.read(), f"$.permissions.{kind}[{index}]")
                raise BrokenSettings(file, f"permissions.{kind}[{index}]: {error}", place) from error


def _keys(environment: Environment) -> Finding:
    from bobstay.assembly.provider_access import stored_keys

    stored, problems = stored_keys(environment)
    if problems:
        return Finding("keys", "warn", " ".join(problems))
    names = [name for name in environment.keys if name.endswith(("_KEY", "_TOKEN"))]
    names += [f"stored key of {provider}" for provider in stored]
    if names:
        return Finding("keys", "ok", ", ".join(names))
    wanted = next(name for name in PROVIDER_VARIABLES if name.endswith("_KEY"))
    return Finding(
        "keys",
        "warn",
        "no key of a model provider",
        f"Set {wanted} or another one, store one with bobstay auth login, or use --model demo or a local model.",
    )


def _model(environment: Environment, loaded: LoadedSettings | None) -> Finding:
    from bobstay.assembly.model_choice import chosen_model
    from bobstay.assembly.provider_access import routes_for, settled
    from bobstay.config.options import Options
    from bobstay.config.settings import Settings

    found = loaded or LoadedSettings(Settings())
    environment, warnings = settled(environment, found)
    routes = routes_for(environment, found)
    try:
        model, more = chosen_model(Options(), found, environment, routes)
        if warnings := [*found.warnings, *warnings, *more]:
            return Finding("model", "warn", f"{routes.route(model).name} (not contacted); {' '.join(warnings)}")
        return Finding("model", "ok", f"{routes.route(model).name} (not contacted)")
    except ValueError as error:
        return Finding("model", "warn", str(error), "Or name one with --model when you start.")


def _programs(environment: Environment) -> Iterator[Finding]:
    path = environment.children.get("PATH", "")
    bash = find_program("bash", path) or find_program("sh", path)
    if bash:
        yield Finding("shell", "ok", bash)
    else:
        yield Finding("shell", "fail", "neither bash nor sh is on the PATH", "Install bash.")
    yield _ripgrep(path)
    git = find_program("git", path)
    if git:
        yield Finding("git", "ok", git)
    else:
        yield Finding("git", "warn", "git is not on the PATH", "Install git to work on repositories.")


def _ripgrep(path: str) -> Finding:
    from bobstay.tools.base import ToolError
    from bobstay.tools.ripgrep import ripgrep_path

    try:
        return Finding("ripgrep", "ok", ripgrep_path(path))
    except ToolError as error:
        return Finding("ripgrep", "fail", str(error), "Install ripgrep, or install bobstay again.")


def _sandbox(cwd: str, environment: Environment) -> Finding:
    from bobstay.permissions.sandbox.availability import INSTALL, available

    found = available(environment.children.get("PATH", ""), cwd)
    tried = "; ".join(f"{name}: {why}" for name, why in found.found if why)
    if found.kind == "bwrap":
        return Finding("sandbox", "ok", f"bubblewrap ({found.path})")
    if found.kind:
        return Finding("sandbox", "warn", f"only {found.kind} works here ({tried})", f"{INSTALL} for the stronger one.")
    return Finding("sandbox", "warn", f"none can be started ({tried})", f"{INSTALL}.")


def _trust(loaded: LoadedSettings) -> Finding:
    if loaded.trusted:
        return Finding("trust", "ok", "this folder is trusted")
    if loaded.untrusted_notice:
        return Finding("trust", "warn", loaded.untrusted_notice)
    return Finding("trust", "ok", "this folder is not trusted; nothing of it is obeyed but what forbids")


def _rules(cwd: str, environment: Environment) -> Iterator[Finding]:
    from bobstay.cli.effective_rules import InForce

    rules = InForce(cwd, environment).rules
    broad = [each for each in rules if each.warning]
    for each in broad:
        yield Finding(
            "rules", "warn", f"{each.place}: {each.warning}", f"bobstay permissions remove '{each.rule.text}'"
        )
    if not broad:
        yield Finding("rules", "ok", f"{len(rules)} rules, none that lets anything run")


def _output(environment: Environment) -> Finding:
    folder = os.path.join(environment.paths.bobstay, "output")
    size = count = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(os.path.join(place, name)).st_size
                count += 1
            except OSError:
                continue  # it went while we looked
    text = f"{count} files with {size / 1e6:.1f} MB of kept output in {folder}"
    if size > MUCH_OUTPUT:
        return Finding("output", "warn", text, f"Remove what you no longer need: rm -r {folder}")
    return Finding("output", "ok", text)
