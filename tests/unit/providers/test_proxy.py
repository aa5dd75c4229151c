"""Model servers behind proxies, with private certificate authorities."""

import asyncio
import gzip
import ssl
import subprocess
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bobstay.http.client import HttpClient
from bobstay.http.network import Authorities, Network
from bobstay.http.proxies import Proxies
from bobstay.providers.base import ProviderError
from bobstay.providers.http_exchange import provider_errors
from tests.kit.certificate_authority import CertificateAuthority
from tests.kit.proxy_server import proxying
from tests.kit.sockets import Serve, listening
from tests.modelserver import ModelServer

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret"


def always(answer: bytes) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(answer)
            await writer.drain()

    return serve


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
async def secure(authority: CertificateAuthority) -> AsyncIterator[str]:
    async with listening(always(ANSWER), tls=authority.server("models.test", "127.0.0.1")) as address:
        yield address


async def body_from(url: str, network: Network) -> bytes:
    client = HttpClient(network)
    try:
        return await (await client.get(url, {"x-api-key": "hidden"})).read()
    finally:
        await client.close()


async def test_https_goes_through_a_tunnel_of_which_the_proxy_sees_only_the_name(
    secure: str, authority: CertificateAuthority
) -> None:
    trusted = Authorities(file=str(authority.file))
    async with proxying({"models.test:443": secure}, user="me", password="pass word") as proxy:
        network = Network(Proxies(https=f"http://me:pass%20word@{proxy.address}"), trusted)
        client = HttpClient(network)
        for _ in range(2):
            assert await (await client.get("https://models.test/v1", {"x-api-key": "hidden"})).read() == b"secret"
        await client.close()
        assert proxy.asked == ["CONNECT models.test:443 HTTP/1.1"]


async def test_plain_http_is_asked_of_the_proxy_in_absolute_form() -> None:
    async with listening(always(ANSWER)) as address, proxying({"models.test:8080": address}) as proxy:
        network = Network(Proxies(http=proxy.address))
        assert await body_from("http://models.test:8080/v1/models?x=y", network) == b"secret"
        assert proxy.asked == ["GET http://models.test:8080/v1/models?x=y HTTP/1.1"]


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_the_password_of_a_proxy_is_for_the_proxy_alone(authority: CertificateAuthority, scheme: str) -> None:
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(ANSWER)

    tls = authority.server("models.test") if scheme == "https" else None
    async with listening(serve, tls=tls) as address:
        hosts = {"models.test:443": address, "models.test:80": address}
        async with proxying(hosts, user="me", password="right") as proxy:
            network = Network(Proxies(all=f"http://me:right@{proxy.address}"), Authorities(extra=str(authority.file)))
            assert await body_from(f"{scheme}://models.test/", network) == b"secret"
    assert b"proxy-authorization" not in heads[0].lower()


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_can_be_spoken_to_over_tls(authority: CertificateAuthority, secure: str, scheme: str) -> None:
    trusted = Authorities(extra=str(authority.file))
    async with listening(always(ANSWER)) as plain:
        hosts = {"models.test:443": secure, "models.test:80": plain}
        async with proxying(hosts, tls=authority.server("127.0.0.1")) as proxy:
            network = Network(Proxies(all=f"https://{proxy.address}"), trusted)
            assert await body_from(f"{scheme}://models.test/", network) == b"secret"
            assert len(proxy.asked) == 1


async def test_a_proxy_for_https_is_not_used_for_http(server: ModelServer) -> None:
    async with proxying({}) as proxy:
        client = HttpClient(Network(Proxies(https=f"http://{proxy.address}")))
        with pytest.raises(ProviderError, match=r"models\.test was not found"), provider_errors():
            await client.get("http://models.test/")
        await client.close()
        assert proxy.asked == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_model_on_this_machine_is_reached_past_the_proxy(server: ModelServer, host: str) -> None:
    network = Network(Proxies(http="http://127.0.0.1:9", https="http://127.0.0.1:9", all="http://127.0.0.1:9"))
    url = server.url.replace("127.0.0.1", host)
    assert b"no such path: /v1/nothing" in await body_from(f"{url}/v1/nothing", network)


async def test_a_proxy_that_wants_a_password_says_how_to_give_one(authority: CertificateAuthority) -> None:
    async with proxying({}, user="me", password="right") as proxy:
        for given, expected in (("", "requires a user and a password"), ("me:wrong@", "does not accept this user")):
            network = Network(Proxies(https=f"http://{given}{proxy.address}"))
            with pytest.raises(ProviderError, match=expected) as caught, provider_errors():
                await body_from("https://models.test/", network)
            assert "407" in str(caught.value)
            assert "wrong" not in str(caught.value)
            assert not caught.value.retryable


async def test_a_host_the_proxy_does_not_know_is_told_with_the_words_of_the_proxy() -> None:
    async with proxying({}) as proxy:
        with pytest.raises(ProviderError, match="502"), provider_errors():
            await body_from("https://nowhere.test/", Network(Proxies(all=f"http://{proxy.address}")))


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
async def test_a_socks_proxy_looks_names_up_itself(secure: str, authority: CertificateAuthority, scheme: str) -> None:
    trusted = Authorities(extra=str(authority.file))
    async with listening(always(ANSWER)) as plain:
        hosts = {"models.test:443": secure, "models.test:80": plain}
        async with proxying(hosts, user="me", password="right", socks=True) as proxy:
            network = Network(Proxies(all=f"{scheme}://me:right@{proxy.address}"), trusted)
            assert await body_from("https://models.test/", network) == b"secret"
            assert await body_from("http://models.test/", network) == b"secret"
            assert proxy.asked == ["models.test:443", "models.test:80"]
            with pytest.raises(ProviderError, match="the host cannot be reached"), provider_errors():
                await body_from("http://nowhere.test/", network)
            wrong = Network(Proxies(all=f"{scheme}://me:wrong@{proxy.address}"))
            with pytest.raises(ProviderError, match="does not accept"), provider_errors():
                await body_from("http://models.test/", wrong)


async def test_a_kind_of_proxy_that_is_not_supported_is_refused_with_words() -> None:
    with pytest.raises(ProviderError, match="socks4") as caught, provider_errors():
        await body_from("http://x.test/", Network(Proxies(all="socks4://127.0.0.1:1080")))
    assert not caught.value.retryable


def hashed(folder: Path, authority: CertificateAuthority) -> str:
    """A directory of authorities, as OpenSSL wants it."""
    (folder / "hashed").mkdir()
    (folder / "hashed" / "authority.pem").write_bytes(authority.file.read_bytes())
    subprocess.run(["openssl", "rehash", str(folder / "hashed")], check=True)
    return str(folder / "hashed")


@pytest.mark.parametrize(
    ("field", "is_directory"), [("file", False), ("extra", False), ("directory", True), ("file", True)]
)
async def test_authorities_named_in_the_environment_are_trusted(
    secure: str, authority: CertificateAuthority, field: str, is_directory: bool, tmp_path: Path
) -> None:
    named = hashed(tmp_path, authority) if is_directory else str(authority.file)
    assert await body_from(f"https://{secure}/", Network(authorities=Authorities(**{field: named}))) == b"secret"


async def test_extra_authorities_stand_beside_those_of_the_system(
    secure: str, authority: CertificateAuthority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    company = CertificateAuthority(tmp_path, "a company")
    beside = Network(authorities=Authorities(extra=str(company.file)))
    async with listening(always(ANSWER), tls=company.server("127.0.0.1")) as inside:
        for address in (secure, inside):
            assert await body_from(f"https://{address}/", beside) == b"secret"


@pytest.mark.parametrize("named", ["directory", "file"])
async def test_a_directory_of_authorities_leaves_the_systems_file_in_force_and_a_file_its_directory(
    secure: str, authority: CertificateAuthority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    company = CertificateAuthority(tmp_path, "a company")
    if named == "directory":
        usual = ssl.get_default_verify_paths()._replace(openssl_cafile=str(authority.file))
        given = Authorities(directory=hashed(tmp_path, company))
    else:
        usual = ssl.get_default_verify_paths()._replace(openssl_capath=hashed(tmp_path, authority))
        given = Authorities(file=str(company.file))
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: usual)
    assert await body_from(f"https://{secure}/", Network(authorities=given)) == b"secret"


async def test_certificates_that_only_python_3_13_refuses_are_accepted(
    secure: str, authority: CertificateAuthority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As curl, Go and Node do: an authority need not name key identifiers."""
    usual = ssl.create_default_context

    def strict() -> ssl.SSLContext:
        context = usual()
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", strict)
    copy = tmp_path / "copy.pem"  # contexts are kept by the names of their files
    copy.write_bytes(authority.file.read_bytes())
    assert await body_from(f"https://{secure}/", Network(authorities=Authorities(extra=str(copy)))) == b"secret"


async def test_a_file_of_authorities_that_is_not_there_is_named_when_trust_fails(secure: str) -> None:
    network = Network(authorities=Authorities(extra="/nowhere/company.pem"))
    with pytest.raises(ProviderError, match=r"company\.pem") as caught, provider_errors():
        await body_from(f"https://{secure}/", network)
    assert "NODE_EXTRA_CA_CERTS" in str(caught.value)
    assert not caught.value.retryable


async def test_a_server_that_was_reached_once_is_worth_more_attempts() -> None:
    client = HttpClient()
    async with listening(always(ANSWER.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))) as address:
        await (await client.get(f"http://{address}/")).read()
    with pytest.raises(ProviderError) as caught, provider_errors():
        await client.get(f"http://{address}/")
    await client.close()
    assert (caught.value.kind, caught.value.retryable) == ("connection", True)


async def test_a_server_that_comes_up_a_moment_later_is_reached() -> None:
    async with listening(always(ANSWER)) as address:
        pass
    client = HttpClient()
    asking = asyncio.create_task(client.get(f"http://{address}/"))
    await asyncio.sleep(0)
    async with listening(always(ANSWER), port=int(address.rpartition(":")[2])):
        assert await (await asking).read() == b"secret"
        await client.close()


async def test_a_person_is_told_what_to_do_about_a_server_that_is_not_running(http: HttpClient) -> None:
    http.hint("http://127.0.0.1:9/v1", "Start it with: ollama serve")
    with pytest.raises(ProviderError, match="ollama serve"), provider_errors():
        await http.get("http://127.0.0.1:9/v1/models")


@pytest.mark.parametrize("packing", ["gzip", "deflate", "bare deflate", "two members"])
async def test_a_compressed_answer_is_unpacked_as_it_comes(http: HttpClient, packing: str) -> None:
    text = b"data: hello\n\n" * 1000
    bare = zlib.compressobj(wbits=-15)
    packed = {
        "gzip": gzip.compress(text),
        "deflate": zlib.compress(text),
        "bare deflate": bare.compress(text) + bare.flush(),
        "two members": gzip.compress(text[:13]) + gzip.compress(text[13:]),
    }[packing]
    encoding = {"two members": b"gzip", "bare deflate": b"deflate"}.get(packing, packing.encode())
    chunks = b"".join(b"%x\r\n%b\r\n" % (1, packed[index : index + 1]) for index in range(len(packed)))
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: " + encoding + b"\r\ntransfer-encoding: chunked\r\n\r\n"
    async with listening(always(head + chunks + b"0\r\n\r\n")) as address:
        assert await (await http.get(f"http://{address}/")).read() == text


async def test_a_compressed_answer_that_grows_without_end_is_refused(http: HttpClient) -> None:
    packed = gzip.compress(bytes(80 * 1024 * 1024))
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
    async with listening(always(head + packed)) as address:
        reply = await http.get(f"http://{address}/")
        with pytest.raises(ProviderError, match="64 MiB"), provider_errors():
            await reply.read(1 << 30)
