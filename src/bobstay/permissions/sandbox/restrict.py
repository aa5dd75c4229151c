"""Irrevocably drops all rights but those granted, then executes another program.

Run as a script by a bare interpreter: it imports nothing of bobstay.

    restrict.py GRANTS FILTER PROGRAM ARGUMENTS

GRANTS and FILTER are descriptors: the first has `rights path` entries, each terminated by NUL, the second a seccomp
program.
"""

import ctypes
import os
import struct
import sys

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF, _CAPSET = 444, 445, 446, {"x86_64": 126, "aarch64": 91}
_OF_A_FILE = (1 << 0) | (1 << 1) | (1 << 2) | (1 << 14) | (1 << 15)
"""The rights that apply to a path that is not a folder."""
_SET_SECUREBITS, _SET_NO_NEW_PRIVILEGES, _SET_SECCOMP, _DROP_BOUNDING = 28, 38, 22, 24
_NO_ROOT_LOCKED = 0x2F
_ALL_BY_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_ALL = (1 << 16) - 1

_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> None:
    grants, program = (_content(int(number)) for number in arguments[:2])
    if os.getuid() == 0:
        _drop_capabilities()
    _check(_libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")
    _landlock(grants)
    _filter(program)
    os.execv(arguments[2], arguments[2:])  # noqa: S606 - it replaces itself by the command


def _landlock(grants: bytes) -> None:
    version = _check(_libc.syscall(_CREATE_RULESET, None, 0, 1), "landlock")
    handled = _ALL_BY_VERSION.get(version, _ALL)
    tcp, scopes = 3, 3  # bind and connect; abstract sockets and signals
    attributes = struct.pack("=QQQ", handled, tcp, scopes)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = _check(_libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0), "landlock")
    for entry in grants.split(b"\0")[:-1]:
        rights, _, path = entry.partition(b" ")
        _grant(ruleset, int(rights) & handled, path)
    _check(_libc.syscall(_RESTRICT_SELF, ruleset, 0), "landlock")
    os.close(ruleset)


def _grant(ruleset: int, rights: int, path: bytes) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return  # it no longer exists: nothing to grant
    try:
        if not os.path.isdir(path):
            rights &= _OF_A_FILE
        beneath = struct.pack("=Qi", rights, opened)
        if rights:
            _check(_libc.syscall(_ADD_RULE, ruleset, 1, beneath, 0), os.fsdecode(path))
    finally:
        os.close(opened)


def _filter(program: bytes) -> None:
    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))

    given = Program(len(program) // 8, program)
    _check(_libc.prctl(_SET_SECCOMP, 2, ctypes.byref(given), 0, 0), "seccomp")


def _drop_capabilities() -> None:
    """Drop the capabilities of user 0 for good: executing a program does not restore them. File ownership stays."""
    for number in range(64):
        if _libc.prctl(_DROP_BOUNDING, number, 0, 0, 0) < 0:
            break
    _check(_libc.prctl(_SET_SECUREBITS, _NO_ROOT_LOCKED, 0, 0, 0), "securebits")
    header = struct.pack("=Ii", 0x20080522, 0)
    _check(_libc.syscall(_CAPSET[os.uname().machine], header, bytes(24)), "capabilities")


def _content(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


def _check(result: int, what: str) -> int:
    if result < 0:
        sys.exit(f"sandbox: {what}: {os.strerror(ctypes.get_errno())}. The command did not run.")
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
