"""Git repositories of tests, made with an identity of their own and without the settings of this machine."""

import os
import subprocess
from pathlib import Path

PATH = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"
IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
}


def git(folder: Path, *arguments: str, stdin: str = "", **variables: str) -> str:
    """Run git; what it prints."""
    environment = {
        "PATH": PATH,
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        **IDENTITY,
        **variables,
    }
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, input=os.fsencode(stdin), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return os.fsdecode(done.stdout)


def repository(folder: Path, **contents: str) -> Path:
    """A repository with one commit, in which also programs that run git themselves can commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    for name, content in (contents or {"readme": "first\n"}).items():
        (folder / name).write_text(content)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "first")
    return folder
