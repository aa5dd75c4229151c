"""Patterns of well-known tokens and keys."""

from msgspec import Struct


class TokenShape(Struct, frozen=True):
    """A kind of token that can be recognised by a pattern."""

    name: str
    pattern: str
    """What is redacted; a group `kept` at its start is kept."""
    needles: tuple[str, ...]
    """Literals of which every such token contains one, for a fast first search."""
    back: int = 0
    """Distance from the beginning of the token to the needle."""
    opening: str = ""
    """How the token begins, if the distance is not fixed."""


class TokenHint(Struct, frozen=True):
    """A text that every token of some shapes contains. It is searched for first because that is cheap."""

    text: str
    shapes: tuple[TokenShape, ...]
    is_pattern: bool = False
    """`text` is a pattern: one that begins with a rare letter is found faster than several texts in turn."""


_WORD = "(?<![A-Za-z0-9])"
_BEGIN = r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_END = "(?:-----END[A-Z0-9 ]{1,60}-----)?"

HINTS = (
    TokenHint(
        "sk-",
        (
            TokenShape(
                "API key", _WORD + r"sk-(?:(?:ant|proj|svcacct|admin|or|lf)-[\w-]{16,}|[A-Za-z0-9]{32,})", ("sk-",)
            ),
        ),
    ),
    TokenHint("k_live_", (TokenShape("API key", _WORD + r"[rs]k_live_[A-Za-z0-9]{16,}", ("k_live_",), 1),)),
    TokenHint(
        "g(?:h[pousr]_|ithub_pat_|lpat-)",
        (
            TokenShape(
                "GitHub token",
                _WORD + r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{22,})",
                ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
            ),
            TokenShape("GitLab token", _WORD + r"glpat-[\w-]{20,}", ("glpat-",)),
        ),
        is_pattern=True,
    ),
    TokenHint(
        "A(?:KIA|SIA|Iza)",
        (
            TokenShape("AWS key", _WORD + r"A[KS]IA[0-9A-Z]{16}(?![A-Za-z0-9])", ("AKIA", "ASIA")),
            TokenShape("Google key", _WORD + r"AIza[\w-]{35}", ("AIza",)),
        ),
        is_pattern=True,
    ),
    TokenHint("xox", (TokenShape("Slack token", _WORD + r"xox[abeoprs]-[A-Za-z0-9-]{10,}", ("xox",)),)),
    TokenHint("eyJ", (TokenShape("JWT", _WORD + r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}", ("eyJ",)),)),
    # Anything between the first and the last line of the key: there may be line numbers, quotes and `\n`.
    TokenHint(
        "PRIVATE KEY",
        (
            TokenShape(
                "private key",
                _BEGIN + r"[^A-Za-z-]{0,40}n?[A-Za-z0-9+/]{40}[^-]*" + _END,
                ("PRIVATE KEY",),
                opening="-----BEGIN ",
            ),
        ),
    ),
    TokenHint(
        "earer ",
        (
            TokenShape(
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
"""How tokens begin: if a piece of a stream ends in one of these, or within one, that end is held back."""
BREAKS = frozenset(" \t\r\n\"'<>()[]{},;")
"""Characters that no token contains."""
