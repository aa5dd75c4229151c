"""HTTPS, directly and through a proxy, with a test certificate."""

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bobstay.http.client import HttpClient
from bobstay.providers.base import ProviderError
from bobstay.providers.http_exchange import provider_errors
from tests.kit.sockets import listening

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test model server")])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.DNSName("models.test"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            ),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + built.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture
async def secure(certificate: Path) -> AsyncIterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(ANSWER)

    async with listening(serve, tls=context) as address:
        yield address


async def test_an_authority_named_in_the_environment_is_trusted(
    secure: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    client = HttpClient()
    for _ in range(2):
        assert await (await client.get(f"https://{secure}/")).read() == b"secret"
    await client.close()


async def test_an_unknown_authority_is_refused_and_the_way_out_is_named(secure: str) -> None:
    client = HttpClient()
    with pytest.raises(ProviderError, match="SSL_CERT_FILE") as caught, provider_errors():
        await client.get(f"https://{secure}/")
    await client.close()
    assert caught.value.kind == "unreachable"


async def test_a_certificate_for_another_host_is_refused(
    secure: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    client = HttpClient()
    with pytest.raises(ProviderError, match="not trusted"), provider_errors():
        await client.get(f"https://{secure.replace('127.0.0.1', 'localhost')}/")
    await client.close()
