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
from bobstay.config.settings_files import BrokenSettings, load, raw_rules
from bobstay.permissions.mode import MODES
from bobstay.permissions.rule import BEHAVIORS, BadRule, Rule
from bobstay.permissions.rule_updates import UpdateFailed, take_out, write
from bobstay.permissions.suggest import broad

if TYPE_CHECKING:
    from bobstay.cli.effective_rules import Written

SCOPES = {"user": "userSettings", "project": "projectSettings", "local": "localSettings"}
LISTS = ("allow", "ask", "deny")


def run(arguments: list[str]) -> int:
    try:
        asked = _parser().parse_args(arguments)
        environment = Environment.read()
        match asked.action:
            case "check":
                return _check(asked, environment)
            case "list":
                return _list(environment, as_json=asked.json)
            case "add":
                return _add(asked, environment)
            case _:
                return _remove(asked, environment)
    except BrokenSettings as error:
        # Whatever the other rules say: with one that cannot be read nothing is known to be allowed.
        sys.stderr.write(f"{error}\nNothing is allowed before that is mended.\n")
        return 1
    except (UsageError, UpdateFailed, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except SystemExit as left:  # after --help
        return int(left.code or 0)


# ---------------------------------------------------------------- what is asked for


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}\n{self.format_usage().strip()}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="bobstay permissions", description="Explain a decision; list, add and remove rules.")
    actions = parser.add_subparsers(dest="action", required=True, parser_class=_Parser)
    check = actions.add_parser("check", help="what would be decided: exit code 0 allow, 3 ask, 4 deny, 1 error")
    check.add_argument("what", nargs="?", help="a command; with --tool a path, a URL, or nothing")
    check.add_argument("--tool", default="Bash", help="Bash (default), Read, Edit, Write, WebFetch, mcp__server__tool")
    check.add_argument("--input", help="the whole input of the call, as JSON")
    check.add_argument("--mode", choices=sorted(MODES), help="as if in this mode; else the one the settings name")
    check.add_argument("--trust", action="store_true", help="as if this folder were trusted")
    check.add_argument("--json", action="store_true")
    check.add_argument(
        "--stdin", action="store_true", help="cases as JSON lines, judged without looking at this machine"
    )
    listing = actions.add_parser("list", help="all rules in force, in the order they are looked at")
    listing.add_argument("--json", action="store_true")
    adding = actions.add_parser("add", help="add rules to a settings file")
    adding.add_argument("rules", nargs="+", metavar="RULE", help="such as 'Bash(git log:*)'")
    kinds = adding.add_mutually_exclusive_group()
    for kind in LISTS:
        kinds.add_argument(f"--{kind}", dest="list", action="store_const", const=kind, default="allow")
    adding.add_argument("--scope", choices=tuple(SCOPES), default="local", help="local (default), project or user")
    removing = actions.add_parser("remove", help="remove a rule from the settings files it stands in")
    removing.add_argument("rules", nargs="+", metavar="RULE")
    removing.add_argument("--scope", choices=tuple(SCOPES), help="only from there")
    return parser


# ---------------------------------------------------------------- check and list


def _check(asked: Any, environment: Environment) -> int:
    from bobstay.cli.check_command import explain, judge_lines

    if asked.stdin:
        return judge_lines(sys.stdin.buffer, sys.stdout.buffer)
    given = None
    if asked.input is not None:
        try:
            given = msgspec.json.decode(asked.input, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise UsageError(f"--input is not a JSON object: {error}") from error
    if asked.what is None and given is None and not asked.tool.startswith("mcp__"):
        raise UsageError("Nothing to check was named. Usage: bobstay permissions check 'git log | head'")
    from bobstay.cli.effective_rules import InForce

    here = InForce(os.getcwd(), environment, trust=asked.trust)
    return explain(here, asked.tool, asked.what or "", given, asked.mode or "", as_json=asked.json)


def _list(environment: Environment, *, as_json: bool) -> int:
    from bobstay.cli.effective_rules import InForce

    here = InForce(os.getcwd(), environment, with_malformed=True)
    if as_json:
        told = [
            *(
                _row(each, order=order, rule=each.rule.text, warning=each.warning or None)
                for order, each in enumerate(here.in_order, start=1)
            ),
            *(_row(each, rule=each.text, malformed=each.why) for each in here.malformed),
        ]
        sys.stdout.write(msgspec.json.encode(told).decode() + "\n")
        return 1 if here.malformed else 0
    if not here.rules:
        sys.stdout.write("No rules. What is not read-only is asked about.\n")
    for order, each in enumerate(here.in_order, start=1):
        sys.stdout.write(f"{order:3}  {each.list:<5}  {each.rule.text}\n       {each.source}: {each.place}\n")
        if each.warning:
            sys.stdout.write(f"       warning: {each.warning}\n")
    for bad in here.malformed:
        shown = bad.text if bad.text.isprintable() else repr(bad.text)  # a folder chose it: it may move the cursor
        sys.stdout.write(f"  -  {bad.list:<5}  {shown[:200]}  (malformed)\n       {bad.source}: {bad.place}\n")
        sys.stdout.write(f"       {bad.why[:400]}\n")
        if bad.text.isprintable() and len(bad.text) <= 200:
            sys.stdout.write(f"       to remove it: bobstay permissions remove {shlex.quote(bad.text)}\n")
    if here.loaded.untrusted_notice:
        sys.stdout.write(f"\n{here.loaded.untrusted_notice}\n")
    if here.malformed:
        sys.stderr.write("Nothing is allowed before the malformed rules are mended or removed.\n")
    return 1 if here.malformed else 0


def _row(each: "Written", **more: Any) -> dict[str, Any]:
    place = {"list": each.list, "source": each.source, "file": each.file, "line": each.line or None}
    return {"order": None, **place, "warning": None, "malformed": None, **more}


# ---------------------------------------------------------------- add and remove


def _add(asked: Any, environment: Environment) -> int:
    cwd = os.getcwd()
    for text in asked.rules:
        try:
            rule = Rule.parse(text, BEHAVIORS[asked.list])
        except BadRule as error:
            raise UsageError(f"Not added: {error}") from error
        if warning := broad(rule):
            sys.stderr.write(f"Warning: {warning}\n")
    files = environment.paths.destinations(cwd)
    update = _update("addRules", asked.list, [text.strip() for text in asked.rules], asked.scope)
    with _keeping_trust(cwd, environment):
        changed = write((update,), files)
    file = files[SCOPES[asked.scope]]
    sys.stdout.write(f"{'Added to' if changed else 'Already in'} {file}\n")
    if asked.list == "allow" and asked.scope != "user":
        loaded = load(cwd, environment.paths)
        if not loaded.trusted:
            sys.stderr.write(
                "Warning: this folder is not trusted, so its allow rules are left out until it is. "
                "See `bobstay trust`, or use --scope user.\n"
            )
    return 0


def _remove(asked: Any, environment: Environment) -> int:
    cwd = os.getcwd()
    found = 0
    for scope, file in _files(cwd, environment):
        if asked.scope not in (None, scope):
            continue
        for kind, present in raw_rules(file).items():
            named = [entry for entry in present if any(_same(entry, wanted, kind) for wanted in asked.rules)]
            if not named:
                continue
            with _keeping_trust(cwd, environment):
                take_out(file, kind, named)
            found += len(named)
            sys.stdout.write("".join(f"Removed {_spelled(entry)} ({kind}) from {file}\n" for entry in named))
    if found:
        return 0
    sys.stderr.write(f"No such rule in {asked.scope or 'user, project or local'} settings: {', '.join(asked.rules)}\n")
    managed = raw_rules(environment.paths.managed)
    if any(_same(entry, wanted, kind) for kind in managed for entry in managed[kind] for wanted in asked.rules):
        sys.stderr.write(f"It stands in {environment.paths.managed}, which only an administrator changes.\n")
    return 1


def _files(cwd: str, environment: Environment) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    groups = (
        ("local", local_settings(cwd)),
        ("project", project_settings(cwd)),
        ("user", environment.paths.user_settings),
    )
    # In the home directory the project's files are the user's own: they count once, as the user's.
    own = {os.path.realpath(file) for file in environment.paths.user_settings}
    for scope, files in groups:
        for file in files:
            real = os.path.realpath(file)
            if real not in seen and (scope == "user" or real not in own):
                seen.add(real)
                yield scope, file


def _spelled(entry: Any) -> str:
    return entry if isinstance(entry, str) else msgspec.json.encode(entry).decode()


def _same(text: Any, wanted: str, kind: str) -> bool:
    """Whether two spellings are one rule: `Bash` is `Bash(*)`. What means nothing is the same as itself."""
    if not isinstance(text, str):
        try:
            return bool(msgspec.json.decode(wanted) == text)
        except msgspec.DecodeError:
            return False
    try:
        one, other = (Rule.parse(each, BEHAVIORS[kind]) for each in (text, wanted))
    except BadRule:
        return text.strip() == wanted.strip()
    return (one.tool, one.pattern) == (other.tool, other.pattern)


def _update(kind: str, behavior: str, rules: list[str], scope: str) -> dict[str, Any]:
    return {
        "type": kind,
        "behavior": behavior,
        "rules": [{"toolName": text} for text in rules],
        "destination": SCOPES[scope],
    }


@contextmanager
def _keeping_trust(cwd: str, environment: Environment) -> Generator[None, None, None]:
    """What a person changes by this very command does not make the folder a changed one."""
    from bobstay.config.trust import own_change
    from bobstay.config.trust_store import TrustUnusable

    folder = os.path.realpath(cwd)
    files = (*local_settings(folder), *project_settings(folder))
    try:
        with own_change(folder, environment.paths, files):
            yield
    except TrustUnusable as error:
        sys.stderr.write(f"Warning: the folder will count as changed: {error}\n")
