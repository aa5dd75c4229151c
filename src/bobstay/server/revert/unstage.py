"""Unstages reverted files, so that the next commit does not contain their changes."""

from bobstay.repositories.git_process import EMPTY_TREES, Git, Repo


async def unstage(repo: Repo, git: Git, head: str, tree: str, names: list[bytes]) -> None:
    """Reset these files in the index to `tree`, if staged changes differ from HEAD.

    Raises:
        ApiError: conflict with git's own message; another git process may be running.
    """
    now = head or EMPTY_TREES[40]
    staged = await git.run("diff", "--cached", "--raw", "-z", "--no-renames", now, "--", *names)
    if not staged.out:
        return
    base = await git.output("ls-tree", "-z", "--full-name", tree, "--", *names)
    entries = [row for row in base.split(b"\0") if row]
    known = {row.partition(b"\t")[2] for row in entries}
    listed = await git.output("ls-files", "-z", "--full-name", "--", *names)
    gone = [b"0 " + b"0" * len(now) + b"\t" + name for name in listed.split(b"\0") if name and name not in known]
    lines = [*gone, *(_entry(row) for row in entries)]
    if lines:
        await repo.writable(repo.top).output("update-index", "-z", "--index-info", stdin=b"\0".join(lines) + b"\0")


def _entry(row: bytes) -> bytes:
    """A line of `ls-tree` (mode, kind, object, name) as the index takes it (mode, object, name)."""
    about, _, name = row.partition(b"\t")
    mode, _, object_ = about.split(b" ")
    return mode + b" " + object_ + b"\t" + name
