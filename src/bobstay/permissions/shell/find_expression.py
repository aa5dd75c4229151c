"""Parses the expression of a `find` command: its actions, name pattern and the files it tests."""

from msgspec import Struct

from bobstay.permissions.shell.name_sets import names

FLAGS = names(
    "( ) ! , -a -and -daystart -depth -d -empty -executable -false -ls -mount -noleaf -nogroup -not -nouser -o -or "
    "-print -print0 -prune -quit -readable -true -writable -xdev -ignore_readdir_race -noignore_readdir_race -P "
    "-warn -nowarn"
)
TIMES = frozenset(f"-newer{kind}t" for kind in "aBcm")
VALUES = TIMES | names(
    "-amin -atime -cmin -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex -iwholename -links -lname "
    "-maxdepth -mindepth -mmin -mtime -name -path -perm -printf -regex -regextype -size -type -uid -used "
    "-user -wholename -xtype"
)
FILES = frozenset(f"-newer{kind}{other}" for kind in "aBcm" for other in "aBcm") | names(
    "-newer -anewer -cnewer -samefile"
)
ACTIONS = names("-exec -ls -print -print0 -printf")
OPERATORS = frozenset({"(", ")", "!", ","})


class Expression(Struct, frozen=True):
    actions: frozenset[str]
    """The actions on the files found; if empty, it prints them."""
    pattern: str
    """The pattern that all printed or forwarded names match; empty if not known."""
    links: bool
    """Links may be among the files found."""
    shallow: bool
    """It does not descend below its starting points' entries."""
    files: tuple[str, ...]
    """Files that its tests read."""


def starting_points(values: list[str]) -> list[str]:
    """The directories in which the search begins."""
    end = _past_points(values)
    return [value for value in values[:end] if value != "-P"] or ["."]


def _past_points(values: list[str]) -> int:
    position = 0
    while position < len(values) and (values[position] == "-P" or not _begins(values[position])):
        position += 1
    return position


def _begins(value: str) -> bool:
    return value.startswith("-") or value in OPERATORS


def expression(values: list[str]) -> Expression | None:
    """Parse the expression behind the starting points; None if it contains an unknown word."""
    position = _past_points(values)
    actions: set[str] = set()
    files: list[str] = []
    branches = [_Branch()]
    depth = 0
    negated = shallow = False
    while position < len(values):
        word = values[position]
        takes = word in VALUES or word in FILES
        if not takes and word not in FLAGS and word != "-exec":
            return None
        given = values[position + 1] if takes and position + 1 < len(values) else ""
        position += 1 + takes
        depth += (word == "(") - (word == ")")
        if word in FILES:
            files.append(given)
        if word == "-maxdepth":
            shallow = given in ("0", "1")
        if depth == 0 and word in ("-o", "-or", ","):
            branches.append(_Branch())
        elif depth == 0 and not negated:
            branches[-1].test(word, given)
        if word in ACTIONS:
            actions.add(word)
            branches[-1].acts = True
        negated = word in ("!", "-not")
    acting = [branch for branch in branches if branch.acts] or branches
    pattern = acting[0].pattern if len(acting) == 1 else ""
    return Expression(frozenset(actions), pattern, any(branch.links for branch in acting), shallow, tuple(files))


class _Branch:
    """One of the alternatives between `-o`: what all files that match it have in common."""

    def __init__(self) -> None:
        self.pattern = ""
        self.links = True
        self.acts = False

    def test(self, word: str, given: str) -> None:
        """Record a test; one behind an action does not restrict that action."""
        if self.acts:
            return
        if word == "-name":
            self.pattern = given
        elif word == "-type" and "l" not in given:
            self.links = False
