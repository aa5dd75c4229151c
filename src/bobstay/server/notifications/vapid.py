"""VAPID: identifies this server to push services with a permanent key pair and short-lived signed tokens.

RFC 8292. The private key stays in the state folder, readable by its owner only.
"""

import os
from base64 import urlsafe_b64encode

import msgspec
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from bobstay.server.auth.private_files import NotPrivate, private_file
from bobstay.system.safe_read import read_regular

NAME = "push-key.pem"
LIFETIME = 12 * 3600
"""Seconds a token is valid; push services accept at most a day."""
_LARGEST = 10_000


class PushUnusable(Exception):  # noqa: N818 - reads as what happened
    """The key cannot be used. The text says why and what to do."""


class Vapid:
    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        point = key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        self.public_key = b64url(point)
        """The uncompressed point in base64url, as browsers need it."""

    @classmethod
    def load(cls, folder: str) -> "Vapid":
        """Load the key of a state folder, or create it.

        Raises:
            PushUnusable
        """
        path = os.path.join(folder, NAME)
        try:
            private_file(path)
            data = read_regular(path, _LARGEST, follow=False)
            if not data:
                data = _new_key()
                with open(path, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
            key = serialization.load_pem_private_key(data, None)
        except (OSError, NotPrivate) as error:
            raise PushUnusable(f"The key for notifications cannot be used: {error}") from error
        except (ValueError, TypeError) as error:
            text = (
                f"The key for notifications at {path} is damaged. Remove the file; devices must then subscribe again."
            )
            raise PushUnusable(text) from error
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
            raise PushUnusable(f"{path} contains a key of another type. Remove the file.")
        return cls(key)

    def authorization(self, origin: str, subject: str, now: float) -> str:
        """The value of the header `Authorization` for a push service at `origin`."""
        claims = {"aud": origin, "exp": int(now) + LIFETIME, "sub": subject}
        signed = b".".join(
            b64url(msgspec.json.encode(part)).encode() for part in ({"typ": "JWT", "alg": "ES256"}, claims)
        )
        r, s = decode_dss_signature(self._key.sign(signed, ec.ECDSA(hashes.SHA256())))
        signature = b64url(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
        return f"vapid t={signed.decode()}.{signature}, k={self.public_key}"


def b64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _new_key() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
