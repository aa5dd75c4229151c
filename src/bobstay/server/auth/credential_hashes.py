"""Generates secrets and ids, and hashes secrets for storage."""

import hashlib
import hmac
import secrets

MARK = "bst_"
"""Prefix of every long-lived secret, so that people and secret scanners recognise one."""


def new_secret() -> str:
    """A secret for a token or a cookie: 256 random bits."""
    return MARK + secrets.token_urlsafe(32)


def new_code() -> str:
    """A single-use secret that expires soon: 160 random bits."""
    return secrets.token_urlsafe(20)


def new_id() -> str:
    """An id that cannot be guessed and is not a credential."""
    return secrets.token_hex(8)


def is_id(text: str) -> bool:
    """Whether `text` can be such an id. Other texts are not queried: a database may not even accept them."""
    return len(text) == 16 and text.isascii() and text.isalnum()


def digest(secret: str) -> str:
    """The hash that is stored. A plain SHA-256 suffices, because secrets are long and random."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def hashes_equal(one: str, other: str) -> bool:
    """Compare two hashes in constant time."""
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))
