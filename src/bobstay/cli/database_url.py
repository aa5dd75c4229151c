"""Reads the URL of the console's database, and keeps a password in it off the command line."""

import os
import sys
from urllib.parse import urlsplit

VARIABLE = "BOBSTAY_DB"


def database_url(option: str = "", file: str | None = None) -> str:
    """The URL of `--db`, else of the file `--db-file`, else of the variable, which is removed from the environment.

    Raises:
        ValueError: the file cannot be used. The text is for a person.
    """
    inherited = os.environ.pop(VARIABLE, "")
    if file == "":  # a script had nothing to put there: another database than the one that was meant
        raise ValueError("--db-file needs the name of a file.")
    if option or file is None:
        return option or inherited
    try:
        with open(file, encoding="utf-8") as opened:
            url = opened.read(10_000).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ValueError(f"The file {file} of --db-file cannot be read: {reason}.") from None
    if not url or len(url.split()) != 1:
        raise ValueError(f"The file {file} of --db-file must contain the URL of the database and nothing else.")
    return url


def restart_without_password(arguments: list[str], url: str) -> None:
    """Restart this program without the URL on its command line, where other users could read it."""
    try:
        secret = urlsplit(url).password
    except ValueError:
        return
    if secret and sys.argv[1:2] == ["serve"]:
        os.environ[VARIABLE] = url
        kept = [argument for index, argument in enumerate(arguments) if not _is_url(arguments, index)]
        os.execv(sys.executable, [sys.executable, "-m", "bobstay", "serve", *kept])  # noqa: S606 - no shell


def _is_url(arguments: list[str], index: int) -> bool:
    argument = arguments[index]
    return argument == "--db" or argument.startswith("--db=") or (index > 0 and arguments[index - 1] == "--db")
