"""How this server shows push services who it is: one key pair for its life, and short-lived words signed with it.

RFC 8292. The private key never leaves the state folder, where only its owner can read it.
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
"""Seconds a signed word is good; services take no more than a day."""
_LARGEST = 10_000


class PushUnusable(Exception):  # noqa: N818 - reads as what happened
    """There is no key to sign with. The text says why and what to do."""


class Vapid:
    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        point = key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        self.public_key = b64url(point)
        """As browsers want it: the uncompressed point."""

    @classmethod
    def load(cls, folder: str) -> "Vapid":
        """The key of a state folder; made if there is none.

        Raises:
            PushUnusable
        """
        path = os.path.join(folder, NAME)
        try:
            private_file(path)
            data = read_regular(path, _LARGEST, follow=False)
            if not data:
                data = _new()
                with open(path, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
            key = serialization.load_pem_private_key(data, None)
        except (OSError, NotPrivate) as error:
            raise PushUnusable(f"The key for notifications cannot be used: {error}") from error
        except (ValueError, TypeError) as error:
            text = f"The key for notifications at {path} is damaged. Remove the file: devices must then subscribe anew."
            raise PushUnusable(text) from error
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
            raise PushUnusable(f"{path} holds a key of another kind. Remove the file.")
        return cls(key)

    def authorization(self, origin: str, subject: str, now: float) -> str:
        """The value of the header `Authorization` for a push service at `origin`."""
        claims = {"aud": origin, "exp": int(now) + LIFETIME, "sub": subject}
        said = b".".join(
            b64url(msgspec.json.encode(part)).encode() for part in ({"typ": "JWT", "alg": "ES256"}, claims)
        )
        r, s = decode_dss_signature(self._key.sign(said, ec.ECDSA(hashes.SHA256())))
        signature = b64url(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
        return f"vapid t={said.decode()}.{signature}, k={self.public_key}"


def b64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _new() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
