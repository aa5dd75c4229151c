"""Encrypts a notification for one browser: RFC 8291, one record of `aes128gcm`."""

import os
from base64 import urlsafe_b64decode
from binascii import Error

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from msgspec import Struct

RECORD = 4_096
MOST = 3_000
"""Maximum bytes of a message. Push services accept 4,096 encrypted bytes."""
STEP = 256
"""Messages are padded to a multiple of this, so that their length reveals little."""


class BadKeys(ValueError):  # noqa: N818 - reads as what happened
    """The keys of a subscription are invalid."""


class SubscriptionSecrets(Struct, frozen=True):
    p256dh: bytes
    auth: bytes

    @classmethod
    def read(cls, p256dh: str, auth: str) -> "SubscriptionSecrets":
        """Raises:
        BadKeys: one of them is invalid.
        """
        keys = cls(_bytes(p256dh), _bytes(auth))
        if len(keys.auth) != 16:
            raise BadKeys("`auth` must be 16 bytes, in base64url.")
        _point(keys.p256dh)
        return keys


def encrypt(message: bytes, keys: SubscriptionSecrets) -> bytes:
    """The body of a request to a push service.

    Raises:
        BadKeys, ValueError: the message is too long.
    """
    if len(message) > MOST:
        raise ValueError("too long")
    theirs = _point(keys.p256dh)
    own = ec.generate_private_key(ec.SECP256R1())
    own_point = own.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    shared = own.exchange(ec.ECDH(), theirs)
    secret = _derived(keys.auth, shared, b"WebPush: info\0" + keys.p256dh + own_point, 32)
    salt = os.urandom(16)
    key = _derived(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(salt, secret, b"Content-Encoding: nonce\0", 12)
    filled = message + b"\2" + bytes(-(len(message) + 1) % STEP)  # delimiter of the last record, then padding
    head = salt + RECORD.to_bytes(4, "big") + bytes([len(own_point)]) + own_point
    return head + AESGCM(key).encrypt(nonce, filled, None)


def _derived(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


def _point(data: bytes) -> ec.EllipticCurvePublicKey:
    if len(data) != 65 or data[:1] != b"\4":
        raise BadKeys("`p256dh` must be an uncompressed point of 65 bytes, in base64url.")
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), data)
    except ValueError:
        raise BadKeys("`p256dh` is not a point of the curve P-256.") from None


def _bytes(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
    except (Error, ValueError):
        raise BadKeys("The keys must be in base64url.") from None
