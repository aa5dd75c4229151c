"""Folders, files and sockets that no other user of this machine can open, guess or put there before us."""

import contextlib
import os
import secrets
import socket
import stat

_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class NotPrivate(Exception):  # noqa: N818 - reads as what happened
    """Something stands where ours should be, and it is not ours alone. The text says what to do."""


def private_folder(path: str) -> str:
    """Make a folder that only we can enter, or see to it that the one there is so.

    Raises:
        NotPrivate: it belongs to somebody else, or is no folder.
        OSError: it cannot be made.
    """
    os.makedirs(os.path.dirname(path) or ".", 0o700, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC) if not os.path.islink(path) else -1
    if fd < 0:
        raise NotPrivate(f"{path} is a link. Put a folder of your own there.")
    try:
        found = os.fstat(fd)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise NotPrivate(f"{path} is not a folder of yours. Remove it, or choose another BOBSTAY_HOME.")
        if stat.S_IMODE(found.st_mode) != 0o700:
            os.fchmod(fd, 0o700)
    finally:
        os.close(fd)
    return path


def private_file(path: str) -> None:
    """See to it that a file is there and ours alone before somebody else's library opens it, such as a database.

    Raises:
        NotPrivate: it belongs to somebody else, or is no file.
        OSError: it cannot be made.
    """
    try:
        fd = os.open(path, _CREATE, 0o600)
    except FileExistsError:
        if os.path.islink(path):
            raise NotPrivate(f"{path} is a link. Put the file itself there.") from None
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise NotPrivate(f"{path} is not a file of yours. Remove it, or choose another BOBSTAY_HOME.")
        os.fchmod(fd, 0o600)
    finally:
        os.close(fd)


def new_private_file(folder: str, ending: str = "") -> tuple[int, str]:
    """A new file under a name nobody can guess, open for writing, ours alone whatever the umask."""
    path = os.path.join(folder, secrets.token_hex(16) + ending)
    fd = os.open(path, _CREATE, 0o600)
    os.fchmod(fd, 0o600)
    return fd, path


def private_socket(path: str) -> socket.socket:
    """A listening socket that only we can connect to. A dead one in its place is replaced.

    Raises:
        NotPrivate: something else stands there.
        OSError: it cannot be made.
    """
    private_folder(os.path.dirname(path))
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise NotPrivate(f"{path} is in the way. Remove it.")
        os.unlink(path)
    except FileNotFoundError:
        pass
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # The folder keeps everybody out until the mode is set.
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def opening_page(state: str, address: str) -> str:
    """A page that leads a browser to `address`, for a browser is told what to open by a command line all users can see.

    It is ours alone, as the code in `address` must be. The caller removes it once the code is used.
    """
    import html

    fd, path = new_private_file(private_folder(state), ".html")
    shown = html.escape(address, quote=True)
    with os.fdopen(fd, "w", encoding="utf-8") as page:
        page.write('<!doctype html><meta charset="utf-8"><title>bobstay</title>')
        page.write('<meta name="referrer" content="no-referrer">')
        page.write(f'<meta http-equiv="refresh" content="0;url={shown}"><a href="{shown}">Open the console</a>\n')
    return path
