"""`bobstay permissions`: explain a decision, and list, add and remove rules."""

import argparse
import os
import shlex
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from bobstay.cli.flag_parser import UsageError
from bobstay.config.environment import Environment
from bobstay.config.paths import local_settings, project_settings
from bobstay.config.settings_files import BrokenSettings, load, read_raw_rules
from bobstay.permissions.mode import MODES
from bobstay.permissions.rule import BEHAVIORS, BadRule, Rule
from bobstay.permissions.rule_updates import UpdateFailed, remove_entries, write
from bobstay.permissions.suggest import broad_rule_warning

if TYPE_CHECKING:
    from bobstay.cli.effective_rules import RuleLocation

SCOPES = {"user": "userSettings", "project": "projectSettings", "local": "localSettings"}
LISTS = ("allow", "ask", "deny")


def run(arguments: list[str]) -> int:
    try:
        options = _parser().parse_args(arguments)
        environment = Environment.read()
        match options.action:
            case "check":
                return _check(options, environment)
            case "list":
                return _list(environment, as_json=options.json)
            case "add":
                return _add(options, environment)
            case _:
                return _remove(options, environment)
    except BrokenSettings as error:
        # With a rule that cannot be read, nothing is known to be allowed.
        sys.stderr.write(f"{error}\nNothing is allowed until that is fixed.\n")
        return 1
    except (UsageError, UpdateFailed, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except SystemExit as ended:  # after --help
        return int(ended.code or 0)


# ---------------------------------------------------------------- arguments


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}\n{self.format_usage().strip()}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="bobstay permissions", description="Explain a decision; list, add and remove rules.")
    actions = parser.add_subparsers(dest="action", required=True, parser_class=_Parser)
    check = actions.add_parser("check", help="explain a decision: exit code 0 allow, 3 ask, 4 deny, 1 error")
    check.add_argument("what", nargs="?", help="a command; with --tool a path, a URL, or nothing")
    check.add_argument("--tool", default="Bash", help="Bash (default), Read, Edit, Write, WebFetch, mcp__server__tool")
    check.add_argument("--input", help="the whole input of the call, as JSON")
    check.add_argument("--mode", choices=sorted(MODES), help="assume this mode; default: the mode of the settings")
    check.add_argument("--trust", action="store_true", help="assume that this folder is trusted")
    check.add_argument("--json", action="store_true")
    check.add_argument(
        "--stdin", action="store_true", help="judge cases given as JSON lines, independently of this machine"
    )
    listing = actions.add_parser("list", help="all effective rules, in order of evaluation")
    listing.add_argument("--json", action="store_true")
    adding = actions.add_parser("add", help="add rules to a settings file")
    adding.add_argument("rules", nargs="+", metavar="RULE", help="such as 'Bash(git log:*)'")
    kinds = adding.add_mutually_exclusive_group()
    for kind in LISTS:
        kinds.add_argument(f"--{kind}", dest="list", action="store_const", const=kind, default="allow")
    adding.add_argument("--scope", choices=tuple(SCOPES), default="local", help="local (default), project or user")
    removing = actions.add_parser("remove", help="remove a rule from the settings files that contain it")
    removing.add_argument("rules", nargs="+", metavar="RULE")
    removing.add_argument("--scope", choices=tuple(SCOPES), help="only from there")
    return parser


# ---------------------------------------------------------------- check and list


def _check(options: Any, environment: Environment) -> int:
    from bobstay.cli.check_command import explain_decision, judge_lines

    if options.stdin:
        return judge_lines(sys.stdin.buffer, sys.stdout.buffer)
    given = None
    if options.input is not None:
        try:
            given = msgspec.json.decode(options.input, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise UsageError(f"--input is not a JSON object: {error}") from error
    if options.what is None and given is None and not options.tool.startswith("mcp__"):
        raise UsageError("Nothing to check was named. Usage: bobstay permissions check 'git log | head'")
    from bobstay.cli.effective_rules import EffectivePermissions

    permissions = EffectivePermissions(os.getcwd(), environment, trust=options.trust)
    return explain_decision(
        permissions, options.tool, options.what or "", given, options.mode or "", as_json=options.json
    )


def _list(environment: Environment, *, as_json: bool) -> int:
    from bobstay.cli.effective_rules import EffectivePermissions

    permissions = EffectivePermissions(os.getcwd(), environment, with_malformed=True)
    if as_json:
        rows = [
            *(
                _row(each, order=order, rule=each.rule.text, warning=each.warning or None)
                for order, each in enumerate(permissions.ordered, start=1)
            ),
            *(_row(each, rule=each.text, malformed=each.why) for each in permissions.malformed),
        ]
        sys.stdout.write(msgspec.json.encode(rows).decode() + "\n")
        return 1 if permissions.malformed else 0
    if not permissions.rules:
        sys.stdout.write("No rules. Everything that is not read-only needs approval.\n")
    for order, each in enumerate(permissions.ordered, start=1):
        sys.stdout.write(f"{order:3}  {each.list:<5}  {each.rule.text}\n       {each.source}: {each.location}\n")
        if each.warning:
            sys.stdout.write(f"       warning: {each.warning}\n")
    for bad in permissions.malformed:
        # Untrusted text may contain terminal control characters.
        shown = bad.text if bad.text.isprintable() else repr(bad.text)
        sys.stdout.write(f"  -  {bad.list:<5}  {shown[:200]}  (malformed)\n       {bad.source}: {bad.location}\n")
        sys.stdout.write(f"       {bad.why[:400]}\n")
        if bad.text.isprintable() and len(bad.text) <= 200:
            sys.stdout.write(f"       to remove it: bobstay permissions remove {shlex.quote(bad.text)}\n")
    if permissions.loaded.untrusted_notice:
        sys.stdout.write(f"\n{permissions.loaded.untrusted_notice}\n")
    if permissions.malformed:
        sys.stderr.write("Nothing is allowed until the malformed rules are fixed or removed.\n")
    return 1 if permissions.malformed else 0


def _row(each: "RuleLocation", **more: Any) -> dict[str, Any]:
    location = {"list": each.list, "source": each.source, "file": each.file, "line": each.line or None}
    return {"order": None, **location, "warning": None, "malformed": None, **more}


# ---------------------------------------------------------------- add and remove


def _add(options: Any, environment: Environment) -> int:
    cwd = os.getcwd()
    for text in options.rules:
        try:
            rule = Rule.parse(text, BEHAVIORS[options.list])
        except BadRule as error:
            raise UsageError(f"Not added: {error}") from error
        if warning := broad_rule_warning(rule):
            sys.stderr.write(f"Warning: {warning}\n")
    files = environment.paths.destinations(cwd)
    update = _update("addRules", options.list, [text.strip() for text in options.rules], options.scope)
    with _preserve_trust(cwd, environment):
        changed = write((update,), files)
    file = files[SCOPES[options.scope]]
    sys.stdout.write(f"{'Added to' if changed else 'Already in'} {file}\n")
    if options.list == "allow" and options.scope != "user":
        loaded = load(cwd, environment.paths)
        if not loaded.trusted:
            sys.stderr.write(
                "Warning: this folder is not trusted, so its allow rules are ignored until it is. "
                "See `bobstay trust`, or use --scope user.\n"
            )
    return 0


def _remove(options: Any, environment: Environment) -> int:
    cwd = os.getcwd()
    found = 0
    for scope, file in _list_files(cwd, environment):
        if options.scope not in (None, scope):
            continue
        for kind, present in read_raw_rules(file).items():
            named = [entry for entry in present if any(_is_same_rule(entry, wanted, kind) for wanted in options.rules)]
            if not named:
                continue
            with _preserve_trust(cwd, environment):
                remove_entries(file, kind, named)
            found += len(named)
            sys.stdout.write("".join(f"Removed {_format_entry(entry)} ({kind}) from {file}\n" for entry in named))
    if found:
        return 0
    sys.stderr.write(
        f"No such rule in {options.scope or 'user, project or local'} settings: {', '.join(options.rules)}\n"
    )
    managed = read_raw_rules(environment.paths.managed)
    if any(
        _is_same_rule(entry, wanted, kind) for kind in managed for entry in managed[kind] for wanted in options.rules
    ):
        sys.stderr.write(f"It is in {environment.paths.managed}, which only an administrator can change.\n")
    return 1


def _list_files(cwd: str, environment: Environment) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    groups = (
        ("local", local_settings(cwd)),
        ("project", project_settings(cwd)),
        ("user", environment.paths.user_settings),
    )
    # In the home directory the project's files are the user's own: list them once, as the user's.
    own = {os.path.realpath(file) for file in environment.paths.user_settings}
    for scope, files in groups:
        for file in files:
            real = os.path.realpath(file)
            if real not in seen and (scope == "user" or real not in own):
                seen.add(real)
                yield scope, file


def _format_entry(entry: Any) -> str:
    return entry if isinstance(entry, str) else msgspec.json.encode(entry).decode()


def _is_same_rule(text: Any, wanted: str, kind: str) -> bool:
    """Whether two texts are the same rule: `Bash` is `Bash(*)`. Malformed rules are compared as text."""
    if not isinstance(text, str):
        try:
            return bool(msgspec.json.decode(wanted) == text)
        except msgspec.DecodeError:
            return False
    try:
        first, second = (Rule.parse(each, BEHAVIORS[kind]) for each in (text, wanted))
    except BadRule:
        return text.strip() == wanted.strip()
    return (first.tool, first.pattern) == (second.tool, second.pattern)


def _update(kind: str, behavior: str, rules: list[str], scope: str) -> dict[str, Any]:
    return {
        "type": kind,
        "behavior": behavior,
        "rules": [{"toolName": text} for text in rules],
        "destination": SCOPES[scope],
    }


@contextmanager
def _preserve_trust(cwd: str, environment: Environment) -> Generator[None, None, None]:
    """Keep the folder trusted: a change made by this command does not invalidate its trust."""
    from bobstay.config.trust import preserve_trust
    from bobstay.config.trust_store import TrustStoreError

    folder = os.path.realpath(cwd)
    files = (*local_settings(folder), *project_settings(folder))
    try:
        with preserve_trust(folder, environment.paths, files):
            yield
    except TrustStoreError as error:
        sys.stderr.write(f"Warning: the folder will count as changed: {error}\n")
