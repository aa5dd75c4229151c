"""Option tables of mostly read-only commands: which options take a value, write, run something or read more files."""

from collections.abc import Iterator

from msgspec import Struct

from bobstay.permissions.shell.expansion import ExpandedWord


class OptionSpec(Struct, frozen=True):
    """The options of a command. An option that is not listed is a harmless flag."""

    data: str = ""
    """Letters followed by a value that is not a file."""
    paths: str = ""
    """Letters followed by a file."""
    hazards: str = ""
    """Letters with which it writes or runs something: no rule with a wildcard allows these."""
    leaves: str = ""
    """Letters with which it may read more than its operands: not read-only, but a rule may allow them."""
    long_data: str = ""
    """Long options with a value that is not a file, without dashes; with `=` if the value may be the next word."""
    long_hazards: str = ""
    """Long options as dangerous as `hazards`; every abbreviation counts as well."""
    long_leaves: str = ""
    operands: str = "files"
    """`files`, `data`, or `pattern` if the first operand is a pattern and the others are files."""
    patterned: str = ""
    """Letters that give the pattern, so that all operands are files."""
    long_flags: str = ""
    """Of a command with a pattern, long options without a value: any other may give the pattern, or take a word."""
    most: int = 1_000_000
    """The number of operands beyond which it does something else."""


class ParsedArguments(Struct):
    """The arguments of a command, by meaning."""

    operands: list[ExpandedWord]
    files: list[str]
    """Values of options that are, or may be, files."""
    refused: str = ""
    """The first option that is dangerous."""
    leaves: str = ""
    patterned: bool = False
    vague: bool = False
    """An unknown option may have given the pattern."""
    recursive: bool = False


GREP = OptionSpec(
    data="emABCdD",
    paths="f",
    leaves="R",
    long_leaves="dereference-recursive",
    long_data="regexp= max-count= after-context= before-context= context= include= exclude= "
    "exclude-dir= label= color colour binary-files= devices= directories= group-separator=",
    long_flags="basic-regexp byte-offset count extended-regexp files-with-matches files-without-match fixed-strings "
    "ignore-case initial-tab invert-match line-buffered line-number line-regexp no-filename no-ignore-case "
    "no-messages null null-data only-matching perl-regexp quiet recursive silent text with-filename word-regexp",
    operands="pattern",
    patterned="ef",
)
FD = OptionSpec(data="eEtdcjSo", hazards="xX", long_hazards="exec exec-batch")
FILES = OptionSpec()
SUMS = OptionSpec(leaves="c", long_leaves="check")
"""With `-c` they read the files named in a list."""
WORDS = OptionSpec(operands="data")

SPECS: dict[str, OptionSpec] = {
    "base64": OptionSpec(data="w", long_data="wrap=", most=1),
    "basename": WORDS,
    "cat": FILES,
    "cmp": OptionSpec(data="in", long_data="bytes= ignore-initial="),
    "column": OptionSpec(data="sco", long_data="separator= output-separator= table-columns="),
    "comm": OptionSpec(long_data="output-delimiter="),
    "cut": OptionSpec(data="dfcb", long_data="delimiter= fields= characters= bytes= output-delimiter="),
    "df": OptionSpec(data="Btx", long_data="block-size= type= exclude-type= output"),
    "diff": OptionSpec(
        data="xIFUCWD",
        paths="XS",
        hazards="l",
        long_hazards="paginate",
        long_data="exclude= ignore-matching-lines= show-function-line= unified context width= label= "
        "color ifdef= line-format= group-format= old-line-format= new-line-format= palette= "
        "tabsize=",
    ),
    "dirname": WORDS,
    "du": OptionSpec(
        data="dtB",
        paths="X",
        leaves="LDH",
        long_leaves="files0-from dereference dereference-args",
        long_data="max-depth= threshold= block-size= exclude= time time-style=",
    ),
    "echo": WORDS,
    "egrep": GREP,
    "false": WORDS,
    "fd": FD,
    "fdfind": FD,
    "fgrep": GREP,
    "file": OptionSpec(
        data="eFP",
        hazards="CmMzZf",
        long_hazards="compile magic-file uncompress uncompress-noreport files-from",
        long_data="exclude= separator= parameter=",
    ),
    "fold": OptionSpec(data="w", long_data="width="),
    "grep": GREP,
    "head": OptionSpec(data="nc", long_data="lines= bytes="),
    "hexdump": OptionSpec(data="esn", paths="f"),
    "id": WORDS,
    "join": OptionSpec(data="12aejotv"),
    "ls": OptionSpec(
        data="ITw",
        leaves="LH",
        long_leaves="dereference dereference-command-line dereference-command-line-symlink-to-dir",
        long_data="ignore= hide= block-size= color format= sort= time= time-style= indicator-style= "
        "quoting-style= width= tabsize=",
    ),
    "man": OptionSpec(
        hazards="PHCML", long_hazards="pager html preprocessor browser config-file manpath gxditview", leaves="l"
    ),
    "md5sum": SUMS,
    "nl": OptionSpec(data="bdfhilnsvw"),
    "nproc": WORDS,
    "od": OptionSpec(data="AjNtS", long_data="address-radix= skip-bytes= read-bytes= format= strings width"),
    "paste": OptionSpec(data="d", long_data="delimiters="),
    "pwd": WORDS,
    "readlink": FILES,
    "realpath": FILES,
    "rev": FILES,
    "rg": OptionSpec(
        data="egmABCtTjMrEd",
        paths="f",
        hazards="z",
        leaves="L",
        long_hazards="pre hostname-bin search-zip",
        long_leaves="follow",
        long_data="regexp= glob= iglob= max-count= type= type-not= type-add= type-clear= after-context= "
        "before-context= context= sort= sortr= color= colors= context-separator= encoding= "
        "engine= max-columns= max-depth= max-filesize= replace= threads=",
        long_flags="binary byte-offset case-sensitive column count count-matches crlf debug files-with-matches "
        "files-without-match fixed-strings glob-case-insensitive heading hidden ignore-case include-zero invert-match "
        "json line-buffered line-number line-regexp max-columns-preview mmap multiline multiline-dotall no-column "
        "no-config no-filename no-heading no-hidden no-ignore no-ignore-dot no-ignore-global no-ignore-parent "
        "no-ignore-vcs no-line-number no-messages no-mmap no-pre null null-data one-file-system only-matching pcre2 "
        "passthru pretty quiet smart-case stats text trim unrestricted vimgrep with-filename word-regexp",
        operands="pattern",
        patterned="ef",
    ),
    "seq": WORDS,
    "sha1sum": SUMS,
    "sha256sum": SUMS,
    "sort": OptionSpec(
        data="ktS",
        hazards="oT",
        long_hazards="output compress-program temporary-directory",
        long_leaves="files0-from",
        long_data="key= field-separator= buffer-size= parallel= batch-size= sort=",
    ),
    "stat": OptionSpec(data="c", long_data="format= printf= cached="),
    "strings": OptionSpec(data="netTs", long_data="bytes= encoding= radix= target= output-separator="),
    "tac": OptionSpec(data="s", long_data="separator="),
    "tail": OptionSpec(data="ncs", long_data="lines= bytes= sleep-interval= pid="),
    "tar": OptionSpec(
        hazards="IF",
        long_hazards="to-command checkpoint-action use-compress-program rsh-command info-script new-volume-script "
        "rmt-command",
    ),
    "tr": WORDS,
    "tree": OptionSpec(
        data="LIPHT", hazards="oR", leaves="l", long_hazards="output", long_data="filelimit= charset= timefmt= sort"
    ),
    "true": WORDS,
    "type": WORDS,
    "uname": WORDS,
    "uniq": OptionSpec(data="fsw", long_data="skip-fields= skip-chars= check-chars=", most=1),
    "wc": OptionSpec(long_leaves="files0-from"),
    "which": WORDS,
    "whoami": WORDS,
    ":": WORDS,
}
READ_ONLY = frozenset(SPECS) - {"fd", "fdfind", "man", "tar"}
WRITERS = frozenset(name for name, spec in SPECS.items() if spec.hazards or spec.long_hazards or spec.most == 1)
"""Commands that a file with the name of an option would make write: no unquoted glob among their arguments."""


def sort_arguments(spec: OptionSpec, arguments: list[ExpandedWord]) -> ParsedArguments:
    """Parse arguments the way the command would."""
    found = ParsedArguments([], [])
    rest = iter(arguments)
    for argument in rest:
        value = argument.value
        if argument.pipe or not value.startswith("-") or value == "-":
            found.operands.append(argument)
        elif value == "--":
            found.operands += rest
        elif value.startswith("--"):
            _parse_long(spec, argument, found, rest)
        else:
            _parse_short(spec, value[1:], found, rest)
    return found


def _parse_long(spec: OptionSpec, argument: ExpandedWord, found: ParsedArguments, rest: Iterator[ExpandedWord]) -> None:
    name, equals, value = argument.value[2:].partition("=")
    if any(hazard.startswith(name) for hazard in spec.long_hazards.split()):
        found.refused = found.refused or f"--{name}"
    if any(hazard.startswith(name) for hazard in spec.long_leaves.split()):
        found.leaves = found.leaves or f"--{name}"
    found.recursive = found.recursive or (bool(name) and "recursive".startswith(name))
    known = spec.long_data.split()
    if spec.patterned and name == "regexp":
        found.patterned = True
    elif spec.patterned and f"{name}=" not in known and name not in known and name not in spec.long_flags.split():
        found.patterned = found.vague = True
    if f"{name}=" in known:
        if not equals:
            _parse_value(found, rest)
    elif equals and name not in known and sum(one.startswith(name) for one in known) != 1:
        found.files.append(value)  # an unambiguous abbreviation of a data option is not a file


def _parse_short(spec: OptionSpec, letters: str, found: ParsedArguments, rest: Iterator[ExpandedWord]) -> None:
    for position, letter in enumerate(letters):
        if letter in spec.hazards:
            found.refused = found.refused or f"-{letter}"
        if letter in spec.leaves:
            found.leaves = found.leaves or f"-{letter}"
        if letter in spec.patterned:
            found.patterned = True
        found.recursive = found.recursive or letter == "r"
        if letter in spec.data or letter in spec.paths:
            value = letters[position + 1 :]
            if not value:
                value = _parse_value(found, rest)
            if letter in spec.paths:
                found.files.append(value)
            return


def _parse_value(found: ParsedArguments, rest: Iterator[ExpandedWord]) -> str:
    """The next word, as the value of an option. A glob is also an operand, because it may expand to several names."""
    following = next(rest, None)
    if following is None:
        return ""
    if following.glob:
        found.operands.append(following)
    return following.value
