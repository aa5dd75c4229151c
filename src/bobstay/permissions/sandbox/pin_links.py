"""Mounts read-only files over symbolic links in a new mount namespace, then executes another program.

Run as a script by a bare interpreter: it imports nothing of bobstay. A link in a writable folder could otherwise be
removed and replaced. The usual way of mounting follows links, so it cannot protect the link itself.

    pin_links.py LINK FILE [LINK FILE ...] -- PROGRAM ARGUMENTS
"""

import ctypes
import os
import sys

_NEW_MOUNTS, _NEW_USER = 0x20000, 0x10000000
_SLAVE, _RECURSIVE = 0x80000, 0x4000
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_CLONE, _CLOSE_ON_EXEC, _EMPTY_PATH, _FROM_EMPTY_PATH = 1, 0x80000, 0x1000, 4
_HERE = -100

_libc = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    )


def main(arguments: list[str]) -> None:
    end = arguments.index("--")
    _own_mounts()
    for link, file in zip(arguments[0:end:2], arguments[1:end:2], strict=True):
        _mount_over(file, link)
    os.execv(arguments[end + 1], arguments[end + 1 :])  # noqa: S606 - it replaces itself by the program


def _own_mounts() -> None:
    user, group = os.getuid(), os.getgid()
    _check(_libc.unshare(_NEW_MOUNTS | (_NEW_USER if user else 0)), "unshare")
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    _check(_libc.mount(None, b"/", None, _SLAVE | _RECURSIVE, None), "mount")


def _mount_over(file: str, link: str) -> None:
    tree = _check(_libc.syscall(_OPEN_TREE, _HERE, os.fsencode(file), _CLONE | _CLOSE_ON_EXEC), file)
    read_only = _Attributes(1, 0, 0, 0)
    _check(
        _libc.syscall(_MOUNT_SETATTR, tree, b"", _EMPTY_PATH, ctypes.byref(read_only), ctypes.sizeof(read_only)), file
    )
    _check(_libc.syscall(_MOVE_MOUNT, tree, b"", _HERE, os.fsencode(link), _FROM_EMPTY_PATH), link)
    os.close(tree)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        sys.exit(f"bwrap: a symbolic link could not be protected: {what}: {os.strerror(number)}")
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
