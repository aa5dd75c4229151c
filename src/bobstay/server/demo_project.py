"""Creates the demo project for a first session: a small program with a failing test, in its own git repository."""

import asyncio
import os
from collections.abc import Mapping

from bobstay.repositories.git_process import Git
from bobstay.server.errors import ApiError
from bobstay.system.child_process import find_program

NAME = "bobstay-demo"
MOST = 100
PROMPT = "Fix the failing test."
TEST = "python3 test_greeting.py"
"""The command of the demo model; allowed in the project from the start, so that only the edit needs approval."""
FILES = {
    "greeting.py": 'def greet(name):\n    return "Hello, " + nam\n',
    "test_greeting.py": 'from greeting import greet\n\nassert greet("world") == "Hello, world"\nprint("ok")\n',
    "README.md": "# Demo project\n\nMade by bobstay for a first session. Delete this folder whenever you like.\n",
    ".gitignore": "__pycache__/\n",
}
_AUTHOR = ("-c", "user.name=bobstay demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgSign=false")


async def make_demo(parent: str, environment: Mapping[str, str]) -> str:
    """Create the project below `parent`; returns its directory.

    Raises:
        ApiError: storage, if it cannot be written there.
    """
    try:
        folder = await asyncio.to_thread(_write_files, parent)
    except OSError as error:
        text = f"The demo project cannot be created in {parent}: {error.strerror}."
        raise ApiError("storage", text) from error
    program = find_program("git", environment.get("PATH", ""))
    if program:  # without git the session works too, only its changes are not shown
        calm = {**environment, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        git = Git(program, calm, folder, _AUTHOR, ApiError)
        await git.run("init", "-q", "-b", "main")
        await git.run("add", "-A")
        await git.run("commit", "-q", "-m", "A program with a mistake")
    return folder


def _write_files(parent: str) -> str:
    for number in range(1, MOST):
        folder = os.path.join(parent, NAME if number == 1 else f"{NAME}-{number}")
        try:
            os.mkdir(folder)
        except FileExistsError:
            continue
        for name, text in FILES.items():
            with open(os.path.join(folder, name), "x") as file:
                file.write(text)
        return folder
    raise FileExistsError(0, "there are too many demo projects already", parent)
