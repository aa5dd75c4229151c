"""TLS client contexts: the system's certificate authorities, and those named in the environment."""

import asyncio
import os
import ssl

from msgspec import Struct

from bobstay.http.network import Authorities


class TlsTrust(Struct, frozen=True):
    context: ssl.SSLContext
    problem: str = ""
    """Which of the named files could not be used; sentences for a person."""


_known: dict[tuple[Authorities, ssl.DefaultVerifyPaths], TlsTrust] = {}
"""Reading all authorities takes tens of milliseconds and a megabyte: all clients of a process share them."""


async def load_trust(authorities: Authorities) -> TlsTrust:
    """Return the context for client connections. Reads the files in a thread, once per process."""
    key = (authorities, ssl.get_default_verify_paths())
    if key not in _known:
        _known[key] = await asyncio.to_thread(_read, authorities)
    return _known[key]


def _read(authorities: Authorities) -> TlsTrust:
    problems: list[str] = []
    file, directory = authorities.file, authorities.directory
    if file and os.path.isdir(file):  # REQUESTS_CA_BUNDLE may name a directory
        file, directory = "", directory or file
    if file or directory:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        usual = ssl.get_default_verify_paths()
        # As in OpenSSL, each of the two replaces only its own default.
        _add(context, problems, file=file or _existing(usual.openssl_cafile))
        _add(context, problems, directory=directory or _existing(usual.openssl_capath))
    else:
        context = ssl.create_default_context()
    if authorities.extra:
        _add(context, problems, file=authorities.extra)
    # Python 3.13 refuses certificates that curl, Go and Node accept, and that many companies' own authorities issue.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return TlsTrust(context, " ".join(problems))


def _existing(path: str) -> str:
    return path if os.path.exists(path) else ""


def _add(context: ssl.SSLContext, problems: list[str], *, file: str = "", directory: str = "") -> None:
    if not file and not directory:
        return
    try:
        if directory:
            os.listdir(directory)  # OpenSSL ignores a missing directory
        context.load_verify_locations(cafile=file or None, capath=directory or None)
    except OSError as error:  # ssl.SSLError is one
        why = "it holds no certificates" if isinstance(error, ssl.SSLError) else error.strerror
        problems.append(f"{file or directory}, named in the environment, cannot be used: {why}.")
