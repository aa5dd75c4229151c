"""The expression of a `find` command: which of its words are known, what it prints, and what it runs."""

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
    """What it does with what it finds; nothing means that it prints."""
    pattern: str
    """What the names of all that it prints or hands over match; empty if that is not known."""
    links: bool
    """Links may be among them."""
    shallow: bool
    """It looks no deeper than into its starting points."""
    files: tuple[str, ...]
    """Files that its tests look at."""


def starting_points(values: list[str]) -> list[str]:
    """The directories it begins in."""
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
    """What is known of the expression behind the starting points; None if a word of it is not."""
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
    """One of the alternatives between `-o`: what all that passes it has in common."""

    def __init__(self) -> None:
        self.pattern = ""
        self.links = True
        self.acts = False

    def test(self, word: str, given: str) -> None:
        """Take note of a test; one behind an action comes too late to matter."""
        if self.acts:
            return
        if word == "-name":
            self.pattern = given
        elif word == "-type" and "l" not in given:
            self.links = False
