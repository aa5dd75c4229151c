"""`bobstay doctor`: checks the installation and prints one line per check, with a fix for each problem.

It uses no network, starts no program of the current folder, and shows the names of keys, never keys.
"""

import os
import sys
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.config.environment import Environment, find_cloud_switches
from bobstay.config.paths import local_settings, project_settings
from bobstay.config.secret_variables import PROVIDER_VARIABLES, is_provider_key
from bobstay.config.settings_files import BrokenSettings, LoadedSettings, load, read_file
from bobstay.redaction.redactor import Redactor
from bobstay.system.child_process import find_program

State: TypeAlias = Literal["ok", "warn", "fail"]

MIN_PYTHON = (3, 11)
LARGE_OUTPUT = 1 << 30
"""Bytes of saved output from which a warning is shown."""
MAX_LOGS = 2_000
"""Most logs whose locks are checked."""


DEFAULT_PORT = 3001
USAGE = """\
Usage: bobstay doctor [--json] [--port N] [--db URL]
Checks the installation. Port and database are those the console would be started with.
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
    """Return 1 if a check fails."""
    options = _parse(arguments)
    if options is None:
        sys.stderr.write(USAGE)
        return 0 if arguments[0] in ("--help", "-h") else 1
    environment = Environment.read()
    redactor = Redactor(environment.secrets)
    findings = [redactor.redact_value(finding) for finding in run_checks(os.getcwd(), environment, options)]
    if options.json:
        sys.stdout.write(msgspec.json.encode(findings).decode() + "\n")
    else:
        for finding in findings:
            sys.stdout.write(f"{finding.state:<5} {finding.check:<12} {finding.text}\n")
            if finding.fix:
                sys.stdout.write(f"{'':<18} -> {finding.fix}\n")
    return 1 if any(finding.state == "fail" for finding in findings) else 0


def _parse(arguments: list[str]) -> "DoctorOptions | None":
    """The options; None if the command line is invalid."""
    options = DoctorOptions(port=_number(os.environ.get("PORT", "")) or DEFAULT_PORT)
    remaining = iter(arguments)
    for argument in remaining:
        name, equals, value = argument.partition("=")
        if argument == "--json":
            options.json = True
        elif name == "--db" and (given := value if equals else next(remaining, "")):
            options.database = given
        elif name == "--port" and (number := _number(value if equals else next(remaining, ""))):
            options.port = number
        else:
            return None
    return options


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 5 and int(text) < 65_536 else 0


def run_checks(cwd: str, environment: Environment, options: "DoctorOptions | None" = None) -> Iterator[Finding]:
    """Run all checks, in the order a start needs them; those of the console's server last."""
    from bobstay.cli.doctor_server import check_server

    yield _check_python()
    yield from _check_home(environment)
    yield from _check_sessions(environment)
    broken = list(_check_settings(cwd, environment))
    yield from broken
    loaded = None
    if not any(finding.state == "fail" for finding in broken):
        loaded = load(cwd, environment.paths)
    yield _check_keys(environment)
    yield _check_redaction(environment)
    yield _check_model(environment, loaded)
    yield from _check_programs(environment)
    yield _check_sandbox(cwd, environment)
    if loaded is not None:
        yield _check_trust(loaded)
        yield from _check_broad_rules(cwd, environment)
    yield _check_output(environment)
    given = options or DoctorOptions()
    for check, state, text, fix in check_server(environment.paths.bobstay, given.port, given.database):
        yield Finding(check, state, text, fix)


def _check_redaction(environment: Environment) -> Finding:
    if not environment.unredacted:
        return Finding("redaction", "ok", f"{len(environment.secrets)} secret values of the environment are redacted")
    names = ", ".join(environment.unredacted)
    return Finding(
        "redaction",
        "warn",
        f"not redacted, because the values are ordinary words or too short: {names}",
        "Use generated values where that matters; redacting ordinary words would make code unreadable.",
    )


def _check_python() -> Finding:
    from bobstay.version import __version__

    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < MIN_PYTHON:
        return Finding("python", "fail", f"Python {version} is too old", "Install Python 3.11 or newer.")
    return Finding("python", "ok", f"bobstay {__version__} on Python {version} ({sys.executable})")


def _check_home(environment: Environment) -> Iterator[Finding]:
    home = environment.paths.bobstay
    existing = home
    while not os.path.exists(existing) and os.path.dirname(existing) != existing:
        existing = os.path.dirname(existing)
    if not os.path.isdir(existing):
        yield Finding("home", "fail", f"{existing} is not a directory", "Move that file, or set BOBSTAY_HOME.")
    elif not os.access(existing, os.W_OK | os.X_OK):
        yield Finding("home", "fail", f"{home} is not writable", f"Make {existing} yours, or set BOBSTAY_HOME.")
    else:
        state = "" if existing == home else " (not there yet; created when needed)"
        yield Finding("home", "ok", f"{home}{state}")
        mode = os.stat(existing).st_mode & 0o777 if existing == home else 0
        if mode & 0o022:
            yield Finding("home", "warn", f"other users can write to {home} (mode {mode:o})", f"chmod go-w {home}")


def _check_sessions(environment: Environment) -> Iterator[Finding]:
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
        yield Finding("sessions", "warn", text, f"Check who owns the files in {folder}.")
    else:
        yield Finding("sessions", "ok", f"{len(logs)} in {folder}")
    yield _check_locks(folder, logs)


def _check_locks(folder: str, logs: list[str]) -> Finding:
    """Whether sessions can be locked, and which are in use."""
    from bobstay.system.file_lock import is_locked

    busy, stale = [], []
    for name in logs[-MAX_LOGS:]:
        note = os.path.join(folder, name.removesuffix(".jsonl") + ".lease")
        try:
            descriptor = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if is_locked(descriptor):
                busy.append(name)
            elif os.path.exists(note):
                stale.append(name)
        except OSError as error:
            what = f"{folder} is on a file system without locks ({error.strerror})"
            return Finding("locks", "fail", what, "Set BOBSTAY_HOME to a directory on a local disk.")
        finally:
            os.close(descriptor)
    if stale:
        what = f"{len(stale)} sessions ended without closing, such as {stale[-1].removesuffix('.jsonl')}"
        return Finding("locks", "ok", f"{what}: they can be resumed")
    return Finding("locks", "ok", f"{len(busy)} sessions are open now" if busy else "no session is open now")


def _check_settings(cwd: str, environment: Environment) -> Iterator[Finding]:
    """Check each file separately, so that one broken file does not hide another."""
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
            yield Finding("settings", "fail", str(error), "Fix it: bobstay does not start until then.")
    yield Finding("settings", "ok", ", ".join(good) if good else "no settings files")


def _check_rules(file: str, check: Callable[[str, str], None]) -> None:
    """Raises `BrokenSettings` with the position of the first malformed rule."""
    from bobstay.config import json_position

    settings = read_file(file)
    assert settings is not None
    for kind in ("allow", "ask", "deny"):
        for index, text in enumerate(getattr(settings.permissions, kind)):
            try:
                check(text, kind)
            except ValueError as error:
                with open(file, "rb") as opened:
                    position = json_position.locate_path(opened.read(), f"$.permissions.{kind}[{index}]")
                raise BrokenSettings(file, f"permissions.{kind}[{index}]: {error}", position) from error


def _check_keys(environment: Environment) -> Finding:
    from bobstay.assembly.provider_access import read_stored_keys

    stored, problems = read_stored_keys(environment)
    if problems:
        return Finding("keys", "warn", " ".join(problems))
    names = [name for name in environment.keys if is_provider_key(name)]
    names += [f"those of the cloud ({name})" for name in find_cloud_switches(environment.keys)]
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


def _check_model(environment: Environment, loaded: LoadedSettings | None) -> Finding:
    from bobstay.assembly.model_choice import choose_model
    from bobstay.assembly.provider_access import build_routes, resolve_environment
    from bobstay.config.options import Options
    from bobstay.config.settings import Settings

    settings = loaded or LoadedSettings(Settings())
    environment, warnings = resolve_environment(environment, settings)
    routes = build_routes(environment, settings)
    try:
        model, more = choose_model(Options(), settings, environment, routes)
        if warnings := [*settings.warnings, *warnings, *more]:
            return Finding("model", "warn", f"{routes.route(model).name} (not contacted); {' '.join(warnings)}")
        return Finding("model", "ok", f"{routes.route(model).name} (not contacted)")
    except ValueError as error:
        return Finding("model", "warn", str(error), "Or name one with --model when you start.")


def _check_programs(environment: Environment) -> Iterator[Finding]:
    path = environment.children.get("PATH", "")
    bash = find_program("bash", path) or find_program("sh", path)
    if bash:
        yield Finding("shell", "ok", bash)
    else:
        yield Finding("shell", "fail", "neither bash nor sh is on the PATH", "Install bash.")
    yield _check_ripgrep(path)
    git = find_program("git", path)
    if git:
        yield Finding("git", "ok", git)
    else:
        yield Finding("git", "warn", "git is not on the PATH", "Install git to work on repositories.")


def _check_ripgrep(path: str) -> Finding:
    from bobstay.tools.base import ToolError
    from bobstay.tools.ripgrep import ripgrep_path

    try:
        return Finding("ripgrep", "ok", ripgrep_path(path))
    except ToolError as error:
        return Finding("ripgrep", "fail", str(error), "Install ripgrep, or install bobstay again.")


def _check_sandbox(cwd: str, environment: Environment) -> Finding:
    from bobstay.permissions.sandbox.availability import INSTALL, available

    found = available(environment.children.get("PATH", ""), cwd)
    tried = "; ".join(f"{name}: {why}" for name, why in found.found if why)
    if found.kind == "bwrap":
        return Finding("sandbox", "ok", f"bubblewrap ({found.path})")
    if found.kind:
        return Finding("sandbox", "warn", f"only {found.kind} works here ({tried})", f"{INSTALL} for the stronger one.")
    return Finding("sandbox", "warn", f"none can be started ({tried})", f"{INSTALL}.")


def _check_trust(loaded: LoadedSettings) -> Finding:
    if loaded.trusted:
        return Finding("trust", "ok", "this folder is trusted")
    if loaded.untrusted_notice:
        return Finding("trust", "warn", loaded.untrusted_notice)
    return Finding("trust", "ok", "this folder is not trusted; only its restrictions apply")


def _check_broad_rules(cwd: str, environment: Environment) -> Iterator[Finding]:
    from bobstay.cli.effective_rules import EffectivePermissions

    rules = EffectivePermissions(cwd, environment).rules
    broad = [each for each in rules if each.warning]
    for each in broad:
        yield Finding(
            "rules", "warn", f"{each.location}: {each.warning}", f"bobstay permissions remove '{each.rule.text}'"
        )
    if not broad:
        yield Finding("rules", "ok", f"{len(rules)} rules, none of them allows arbitrary commands")


def _check_output(environment: Environment) -> Finding:
    folder = os.path.join(environment.paths.bobstay, "output")
    size = count = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(os.path.join(directory, name)).st_size
                count += 1
            except OSError:
                continue  # it was removed meanwhile
    text = f"{count} files with {size / 1e6:.1f} MB of saved output in {folder}"
    if size > LARGE_OUTPUT:
        return Finding("output", "warn", text, f"Remove what you no longer need: rm -r {folder}")
    return Finding("output", "ok", text)
