"""Decides whether a value looks like a generated secret or is made of ordinary words, numbers and paths.

Redacting an ordinary word (`PGPASSWORD=postgres`) makes every file that contains it unreadable and protects nothing,
so only values that are unlikely to stand anywhere by chance are redacted.
"""

import re
from functools import cache

SHORTEST = 8
"""A shorter value would be found by chance."""
LONGEST_WORD = 15
"""Letters in a row that may still be one word, or two written together."""
PASSPHRASE = 16
"""Characters from which three or more words in a row are a passphrase rather than a name."""
EXAMPLE_WORDS = frozenset(
    {
        *("admin", "app", "change", "changeme", "database", "demo", "dev", "development", "dummy", "example"),
        *("fake", "key", "local", "localhost", "my", "mysql", "none", "null", "pass", "passwd", "password"),
        *("placeholder", "postgres", "prod", "production", "redis", "root", "secret", "staging", "test"),
        *("testing", "token", "user", "xxx", "your"),
    }
)
"""Words of names and example values: a passphrase that contains one of them is taken for a name."""
_PATH = ("/", "~/", "./", "../", "file:")
_SCHEME = re.compile(r"^[a-z][a-z0-9+]{1,20}://")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_SEPARATORS = re.compile(r"[\s_.,:;/\\@=&?+|-]+")
_TRAILING_DIGITS = re.compile(r"\d{1,4}$")
_CONSONANTS = r"[bcdfghjklmnpqrstvwxz]{5}"
_VOWELS = r"[aeiouy]"
_REPEATED = re.compile(r"(.)\1*$", re.DOTALL)


def looks_random(value: str) -> bool:
    """Whether `value` is so unusual that it can be redacted wherever it stands."""
    value = value.strip()
    if len(value) < SHORTEST or is_path(value) or _REPEATED.match(value):
        return False
    value = _SCHEME.sub("", value)
    parts = [part for part in _SEPARATORS.split(value.strip("!?*#$%\"'<>()[]{}")) if part]
    if not all(_is_plain(part) for part in parts):
        return True
    return _is_passphrase(value, parts)


def is_path(value: str) -> bool:
    return value.startswith(_PATH) or value[1:3] == ":\\"


def _is_passphrase(value: str, parts: list[str]) -> bool:
    """Whether it is three or more words separated by spaces or hyphens; `_` or `.` mean an identifier or a host."""
    words = [part for part in parts if part.isalpha()]
    separated = re.fullmatch(r"[^\W_]+(?:(?: +|-)[^\W_]+){2,}", value)
    return (
        separated is not None
        and len(value) >= PASSPHRASE
        and len(words) >= 3
        and EXAMPLE_WORDS.isdisjoint(map(str.lower, words))
    )


def _is_plain(part: str) -> bool:
    """Whether a part is a number, a word, or words in camelCase, with up to four digits (`postgres16`, `admin2024`)."""
    if part.isdigit():
        return True
    letters = _TRAILING_DIGITS.sub("", part)
    if not letters.isalpha():
        return False
    words = _WORD.findall(letters)
    # Random letters change between upper and lower case every second letter, words do not.
    short = sum(len(word) < 3 for word in words)
    return all(map(_reads_as_word, words)) and (
        len(words) == 1 or (short <= len(words) // 2 and len(letters) >= 4 * len(words))
    )


def _reads_as_word(word: str) -> bool:
    if len(word) > LONGEST_WORD:
        word = _example_pattern().sub("", word)  # `supersecretpassword` is long and no secret
        if len(word) > LONGEST_WORD // 2:
            return False
    if len(word) <= 4 or not word.isascii():
        return True
    return _compiled(_VOWELS).search(word) is not None and _compiled(_CONSONANTS).search(word) is None


@cache
def _example_pattern() -> re.Pattern[str]:
    return _compiled("|".join(sorted((word for word in EXAMPLE_WORDS if len(word) > 3), key=len, reverse=True)))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled when it is first needed: most values are decided without it."""
    return re.compile(pattern, re.IGNORECASE)
