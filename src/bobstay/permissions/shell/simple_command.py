"""What is known of one simple command or redirection, in the place where it would run."""

from bobstay.permissions.path_resolution import PathWorld
from bobstay.permissions.shell.analysis import RedirectTarget, SimpleCommand
from bobstay.permissions.shell.expansion import ExpandedWord, Variables, readings, seen
from bobstay.permissions.shell.hazards import is_hazardous
from bobstay.permissions.shell.operands import (
    SWEEPERS,
    elsewhere,
    feeds,
    is_plain_edit,
    read_by,
    reads_more,
    swept_by,
    written_by,
)
from bobstay.permissions.shell.readonly import glob_base, is_tame, is_tame_double_test
from bobstay.permissions.shell.rule_texts import places
from bobstay.permissions.shell.script_walker import Location, Occurrence, ScriptWalker
from bobstay.permissions.shell.syntax import UNQUOTED, Redirect, SimpleNode, Test, Word
from bobstay.permissions.shell.wrappers import FED, harmless, is_harmless_assignment

MOST = 20
"""Commands behind wrappers in one command that are looked at for what they read; with more, that cannot be told."""


MORE_WORDS = "\0"
"""A word no rule can name."""
MOST_READ = 2000
"""Paths in other directories that are looked at, likewise."""


def plain(occurrence: Occurrence, walk: ScriptWalker, cwd: str, world: PathWorld) -> SimpleCommand:
    command = occurrence.command
    if isinstance(command, Test):
        return _test(command, occurrence, world)
    if not command.words:
        return _assignment(command)
    found = [
        _variant(command, words, occurrence, walk, cwd, world)
        for words in readings(command.words, occurrence.variables)
    ]
    return found[0] if len(found) == 1 else _merged(found)


def targets_of(redirect: Redirect, place: Location, variables: Variables) -> list[RedirectTarget]:
    """The files a redirection opens: one for each place it may run in."""
    target = redirect.target
    if target is None:
        return []
    words = [word for way in seen(target, variables) for word in way]
    found: list[RedirectTarget] = []
    for kind in (
        ("read", "write") if redirect.operator == "<>" else ("read",) if redirect.operator == "<" else ("write",)
    ):
        if target.tilde or target.brace or any(word.dynamic or word.glob or word.counted for word in words):
            found.append(RedirectTarget(kind, "", target.source))
            continue
        for word in words:
            if place.where is None and not word.value.startswith("/"):
                found.append(RedirectTarget(kind, "", target.source))
            found += [RedirectTarget(kind, joined(word.value, start), target.source) for start in place.all]
    return found


def listed(word: Word, place: Location) -> list[RedirectTarget]:
    """The directory the shell lists for the pattern of a loop, as a file that is read."""
    base = "" if word.dynamic or word.brace else glob_base(word.value)
    starts = place.all if base and (place.where is not None or base.startswith(("/", "~"))) else ()
    return [RedirectTarget("read", joined(base, start), word.source) for start in starts] or [
        RedirectTarget("read", "", word.source)
    ]


def joined(path: str, start: str) -> str:
    return path if path.startswith(("/", "~")) or not path else f"{start}/{path}"


def _test(command: Test, occurrence: Occurrence, world: PathWorld) -> SimpleCommand:
    words = [seen(word, {})[0][0] for word in command.words]
    source = " ".join(["[[", *(word.source for word in command.words), "]]"])
    tame = is_tame_double_test(words, occurrence.place.where, world)
    return SimpleCommand((source,), exact_only=True, read_only=tame)


def _assignment(command: SimpleNode) -> SimpleCommand:
    """Variables, or nothing but redirections: the former need a rule of their own, the latter are judged apart."""
    texts = " ".join(_text(word) for word in command.assignments), " ".join(word.source for word in command.assignments)
    return SimpleCommand(texts, exact_only=True, read_only=not command.assignments)


def _variant(
    command: SimpleNode,
    words: list[ExpandedWord],
    occurrence: Occurrence,
    walk: ScriptWalker,
    cwd: str,
    world: PathWorld,
) -> SimpleCommand:
    if not command.words[0].literal or not words[0].value.isascii() or words[0].value in ("", "let"):
        return SimpleCommand((), exact_only=True, nameless=True)
    place = occurrence.place
    safe = all(map(is_harmless_assignment, command.assignments))
    forms = list(harmless(words)) if safe else [words]
    last = forms[-1]
    reads, unknown = read_by(words)
    writes = written_by(last)
    begins = places([one.value for one in words])
    names = {words[index].value.rpartition("/")[2] for index in begins}
    others = elsewhere(names, words)
    vague = len(begins) > MOST or len(others) * len(reads) > MOST_READ
    if not vague:
        reads += [f"{other}/{path}" for other in others for path in reads if not path.startswith(("/", "~"))]
    git = walk.moved and "git" in names
    swept: list[str] = []
    if not names.isdisjoint(SWEEPERS):
        sweeping = (index for index in begins if words[index].value.rpartition("/")[2] in SWEEPERS)
        swept = [path for index in list(sweeping)[:MOST] for path in swept_by(words[index:], fed=occurrence.fed)]
    exact_only = not safe or is_hazardous(last)
    tame = safe and not git and is_tame(last, place.where, world)
    handed = safe and not git and not tame and _looks_with_names(last, occurrence, walk, world)
    return SimpleCommand(
        _texts(command, forms if safe else []),
        exact_only=exact_only,
        expands=exact_only and any(word.glob or word.brace for word in command.words),
        read_only=tame or handed,
        handed=handed,
        edits=safe and bool(writes) and is_plain_edit(last) and place.where is not None,
        reads=_absolute(reads, place, cwd),
        writes=_absolute(writes, place, cwd),
        unresolved=unknown
        or feeds(names, words)
        or vague
        or any(reads_more(words[index:]) for index in begins)
        or (place.where is None and bool(reads or swept)),
        sweeps=_absolute(swept, place, cwd),
        refused="It changes the directory and runs git, which obeys what it finds there" if git else "",
    )


def _looks_with_names(words: list[ExpandedWord], occurrence: Occurrence, walk: ScriptWalker, world: PathWorld) -> bool:
    """Whether it only looks at files whose names it gets from others, all of which are inside today."""
    if (words[0].value not in ("find", "xargs") and words[-1] is not FED) or walk.searches == 0:
        return False
    walk.searches -= 1
    from bobstay.permissions.shell.forwarded_names import look_with_names  # few commands need it

    return look_with_names(words, occurrence, world)


def _texts(command: SimpleNode, forms: list[list[ExpandedWord]]) -> tuple[str, ...]:
    """How an allow rule may know it: with all that stands before it, and without what is harmless."""
    whole = [*command.assignments, *command.words]
    found: dict[str, None] = {}
    taken = [(len(forms[0]) - _length(form), form[-1] is FED) for form in forms]
    for words, fed in ((whole, False), *((command.words[count:], fed) for count, fed in taken)):
        # Behind `xargs` there will be more words, so a rule must leave its end open.
        end = f" {MORE_WORDS}" if fed else ""
        found[" ".join(map(_text, words)) + end] = None
        found[" ".join(word.source for word in words) + end] = None
    return tuple(found)


def _length(form: list[ExpandedWord]) -> int:
    """How many of the words were written: `xargs` adds one that was not."""
    return sum(1 for word in form if word.source)


def _text(word: Word) -> str:
    value = word.value
    return value if value and word.literal and UNQUOTED.issuperset(value) else word.source


def _absolute(paths: list[str], place: Location, cwd: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(joined(path, start) for path in paths for start in place.all or (cwd,)))


def _merged(found: list[SimpleCommand]) -> SimpleCommand:
    """One answer for all readings of a command: as harmless as the worst of them."""
    return SimpleCommand(
        found[0].texts,
        exact_only=any(one.exact_only for one in found),
        expands=any(one.expands for one in found),
        handed=any(one.handed for one in found),
        read_only=all(one.read_only for one in found),
        edits=all(one.edits for one in found),
        reads=tuple(dict.fromkeys(path for one in found for path in one.reads)),
        writes=tuple(dict.fromkeys(path for one in found for path in one.writes)),
        unresolved=any(one.unresolved for one in found),
        sweeps=tuple(dict.fromkeys(path for one in found for path in one.sweeps)),
        refused=next((one.refused for one in found if one.refused), ""),
        nameless=any(one.nameless for one in found),
    )
