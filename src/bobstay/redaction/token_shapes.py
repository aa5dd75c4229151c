"""The shapes of well-known tokens and keys, and how each begins."""

from msgspec import Struct


class Shape(Struct, frozen=True):
    """A kind of token that can be told by its looks."""

    name: str
    pattern: str
    """What is masked; a group `kept` at its start is left standing."""
    needles: tuple[str, ...]
    """Texts of which every such token has one in it: for those who look for these first."""
    back: int = 0
    """How far before the needle the token begins."""
    opening: str = ""
    """What the token begins with, if that is not always as far before the needle."""


class Hint(Struct, frozen=True):
    """What is in every token of some shapes: looking for it costs next to nothing, so it is looked for first."""

    text: str
    shapes: tuple[Shape, ...]
    is_pattern: bool = False
    """Patterns that begin with a rare letter are found faster than several texts one after the other."""


_WORD = "(?<![A-Za-z0-9])"
_BEGIN = r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_END = "(?:-----END[A-Z0-9 ]{1,60}-----)?"

HINTS = (
    Hint(
        "sk-",
        (Shape("API key", _WORD + r"sk-(?:(?:ant|proj|svcacct|admin|or|lf)-[\w-]{16,}|[A-Za-z0-9]{32,})", ("sk-",)),),
    ),
    Hint("k_live_", (Shape("API key", _WORD + r"[rs]k_live_[A-Za-z0-9]{16,}", ("k_live_",), 1),)),
    Hint(
        "g(?:h[pousr]_|ithub_pat_|lpat-)",
        (
            Shape(
                "GitHub token",
                _WORD + r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{22,})",
                ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
            ),
            Shape("GitLab token", _WORD + r"glpat-[\w-]{20,}", ("glpat-",)),
        ),
        is_pattern=True,
    ),
    Hint(
        "A(?:KIA|SIA|Iza)",
        (
            Shape("AWS key", _WORD + r"A[KS]IA[0-9A-Z]{16}(?![A-Za-z0-9])", ("AKIA", "ASIA")),
            Shape("Google key", _WORD + r"AIza[\w-]{35}", ("AIza",)),
        ),
        is_pattern=True,
    ),
    Hint("xox", (Shape("Slack token", _WORD + r"xox[abeoprs]-[A-Za-z0-9-]{10,}", ("xox",)),)),
    Hint("eyJ", (Shape("JWT", _WORD + r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}", ("eyJ",)),)),
    # After the first line of the key anything up to its last: line numbers, quotes and `\n` may stand between.
    Hint(
        "PRIVATE KEY",
        (
            Shape(
                "private key",
                _BEGIN + r"[^A-Za-z-]{0,40}n?[A-Za-z0-9+/]{40}[^-]*" + _END,
                ("PRIVATE KEY",),
                opening="-----BEGIN ",
            ),
        ),
    ),
    Hint(
        "earer ",
        (
            Shape(
                "bearer token",
                r"(?P<kept>\b[Bb]earer )(?=\S*\d)[\w.~+/=-]{20,}",
                ("earer ",),
                back=1,
            ),
        ),
    ),
)
OPENERS = (
    *("sk-", "sk_live_", "rk_live_", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-"),
    *("AKIA", "ASIA", "xox", "AIza", "eyJ", "-----BEGIN ", "Bearer ", "bearer "),
)
"""How tokens begin: where a piece of a stream ends in one of these, or within one, that waits for what follows."""
BREAKS = frozenset(" \t\r\n\"'<>()[]{},;")
"""What no token has in it."""
