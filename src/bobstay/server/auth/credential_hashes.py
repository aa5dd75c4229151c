"""Secrets: how they are made, and the hashes that are all the server keeps of them."""

import hashlib
import hmac
import secrets

MARK = "bst_"
"""What every lasting secret begins with, so that people and scanners know one where it should not be."""


def new_secret() -> str:
    """A secret for a token or a cookie: 256 random bits."""
    return MARK + secrets.token_urlsafe(32)


def new_code() -> str:
    """A secret that opens once and soon expires: 160 random bits."""
    return secrets.token_urlsafe(20)


def new_name() -> str:
    """An id that nobody can guess, and that opens nothing."""
    return secrets.token_hex(8)


def is_name(text: str) -> bool:
    """Whether `text` can be such an id. Others are not looked for: a database may not even take them."""
    return len(text) == 16 and text.isascii() and text.isalnum()


def digest(secret: str) -> str:
    """What is stored of a secret. It is random and long, so a plain hash cannot be turned back."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def same(one: str, other: str) -> bool:
    """Compare two hashes in a time that says nothing about them."""
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))
