"""A push service on a real socket and the browser behind it: it checks who sends, and reads what only it can read."""

import asyncio
import json
from base64 import urlsafe_b64decode
from collections.abc import Callable
from typing import Any, Self

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from msgspec import Struct

from bobstay.server.notifications.vapid import b64url
from tests.kit.waiting import DEADLINE


class Received(Struct):
    path: str
    headers: dict[str, str]
    body: bytes


class Browser:
    """One subscription's keys."""

    def __init__(self, key: ec.EllipticCurvePrivateKey | None = None, auth: bytes = b"0123456789abcdef") -> None:
        self._key = key or ec.generate_private_key(ec.SECP256R1())
        self.point = self._key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
        self.auth = auth
        self.keys = {"p256dh": b64url(self.point), "auth": b64url(self.auth)}

    def read(self, body: bytes) -> Any:
        return json.loads(self.opened(body))

    def opened(self, body: bytes) -> bytes:
        """Decrypt as RFC 8188 and RFC 8291 say."""
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        theirs, sealed = body[21 : 21 + length], body[21 + length :]
        assert length == 65
        assert len(sealed) <= size <= 4096
        shared = self._key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), theirs))
        secret = derived(self.auth, shared, b"WebPush: info\0" + self.point + theirs, 32)
        key = derived(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
        nonce = derived(salt, secret, b"Content-Encoding: nonce\0", 12)
        plain = AESGCM(key).decrypt(nonce, sealed, None)
        message, mark, _ = plain.rstrip(b"\0").rpartition(b"\2")
        assert mark == b"\2"
        return message


class PushService:
    """`async with PushService() as service`: answers 201 unless `answers` says otherwise, one after the other."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.answers: list[bytes] = []
        self.may_answer = asyncio.Event()
        """Cleared to hold the answers to what is received."""
        self.may_answer.set()
        self._changed = asyncio.Condition()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    def subscription(self, browser: Browser, name: str = "one", **more: Any) -> dict[str, Any]:
        return {"endpoint": f"{self.origin}/send/{name}", "keys": browser.keys, "expirationTime": None, **more}

    async def until(self, condition: Callable[[list[Received]], bool]) -> list[Received]:
        async with asyncio.timeout(DEADLINE), self._changed:
            while not condition(self.received):
                await self._changed.wait()
        return self.received

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            body = await reader.readexactly(int(headers["content-length"]))
            method, path, _ = first.split(" ")
            assert method == "POST"
            answer = self.answers.pop(0) if self.answers else b"201 Created\r\n"
            async with self._changed:
                self.received.append(Received(path, headers, body))
                self._changed.notify_all()
            await self.may_answer.wait()
            writer.write(b"HTTP/1.1 " + answer + b"Content-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
        finally:
            writer.close()


def claims_of(authorization: str, public_key: str) -> Any:
    """What a sender signed, if the signature is that of the key a browser subscribed with."""
    scheme, _, rest = authorization.partition(" ")
    assert scheme == "vapid"
    fields = dict(part.strip().split("=", 1) for part in rest.split(","))
    assert fields["k"] == public_key
    head, claims, signature = fields["t"].split(".")
    raw = unpadded(signature)
    assert len(raw) == 64
    point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), unpadded(public_key))
    signed = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    point.verify(signed, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
    assert json.loads(unpadded(head)) == {"typ": "JWT", "alg": "ES256"}
    return json.loads(unpadded(claims))


def unpadded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def derived(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)
