"""Repositories whose git configuration names programs, which `git status`, `diff` or `log` would run."""

from collections.abc import Callable
from pathlib import Path

from tests.kit.repositories import git
from tests.security.repos.bait import SECRET, Bait, Trap, commit_all, put, script

Build = Callable[[Path, Bait], None]
FSMONITOR = "evil-fsmonitor.sh"


def configured(*settings: tuple[str, str], attributes: str = "") -> Build:
    """A repository with a changed file; `{run}` in a value is the payload, `{script}` a file that holds it."""

    def build(repo: Path, bait: Bait) -> None:
        commit_all(repo)
        path = script(repo, FSMONITOR, bait, "cat")
        for key, value in settings:
            git(repo, "config", key, value.format(run=bait.command, script=path))
        if attributes:
            put(repo, ".gitattributes", attributes)
        put(repo, "README.md", "changed\n")

    return build


def monitored(repo: Path, bait: Bait, *where: str) -> None:
    git(repo, *where, "config", "core.fsmonitor", f"{bait.command}; false")


def shared_directory(repo: Path, bait: Bait) -> None:
    """`.git/commondir` leads to a repository elsewhere, one that the user trusts."""
    commit_all(repo)
    friend = bait.outside / "friend"
    friend.mkdir()
    put(friend, "README.md", "hello\n")
    commit_all(friend)
    monitored(friend, bait)
    (repo / ".git" / "commondir").write_text(f"{friend}/.git\n")


def named_by_a_file(repo: Path, bait: Bait) -> None:
    """`.git` is a file that names a directory in the tree."""
    commit_all(repo)
    monitored(repo, bait)
    (repo / ".git").rename(repo / "vendor-data")
    (repo / ".git").write_text("gitdir: vendor-data\n")


def named_by_a_link(repo: Path, bait: Bait) -> None:
    commit_all(repo)
    monitored(repo, bait)
    (repo / ".git").rename(bait.outside / "git-data")
    (repo / ".git").symlink_to(bait.outside / "git-data")


def included(repo: Path, bait: Bait) -> None:
    commit_all(repo)
    put(repo, "shared.cfg", f'[core]\n\tfsmonitor = "{bait.command}; false"\n')
    git(repo, "config", "include.path", "../shared.cfg")


def bare(repo: Path, bait: Bait) -> None:
    """The folder itself looks like a repository: no `.git` is needed."""
    git(repo, "init", "-q", "--bare", ".")
    core = f'bare = false\n\tworktree = .\n\tfsmonitor = "{bait.command}; false"\n'
    (repo / "config").write_text(f"[core]\n\trepositoryformatversion = 0\n\t{core}")


def submodule(repo: Path, bait: Bait) -> None:
    """`git status` enters nested repositories and reads their configuration too."""
    inner = repo / "inner"
    inner.mkdir()
    put(inner, "file.txt", "inner\n")
    commit_all(inner)
    commit_all(repo)
    monitored(inner, bait)
    put(inner, "file.txt", "changed\n")


def hooked(folder: str, setting: str = "") -> Build:
    def build(repo: Path, bait: Bait) -> None:
        commit_all(repo)
        script(repo, f"{folder}/post-index-change", bait)
        if setting:
            git(repo, "config", "core.hooksPath", setting)
        # The same content with another time: `git status` writes the index anew, which is what the hook waits for.
        put(repo, "README.md", (repo / "README.md").read_text())

    return build


def signed(repo: Path, bait: Bait) -> None:
    """`git log` checks signatures with the program the configuration names."""
    commit_all(repo)
    body = git(repo, "cat-file", "commit", "HEAD").strip()
    head, _, message = body.partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    forged = git(repo, "hash-object", "-t", "commit", "-w", "--stdin", stdin=f"{head}\n{signature}\n\n{message}\n")
    git(repo, "update-ref", "refs/heads/main", forged.strip())
    git(repo, "config", "log.showSignature", "true")
    git(repo, "config", "gpg.program", str(script(repo, "evil-gpg.sh", bait)))


def linked_head(repo: Path, bait: Bait) -> None:
    """HEAD links to a file elsewhere: showing the branch would show the beginning of that file."""
    commit_all(repo)
    put(bait.outside, "private.txt", f"ref: refs/heads/{SECRET}\n")
    (repo / ".git" / "HEAD").unlink()
    (repo / ".git" / "HEAD").symlink_to(bait.outside / "private.txt")


def secret_head(repo: Path, _: Bait) -> None:
    (repo / ".git" / "HEAD").unlink()
    (repo / ".git" / "HEAD").write_text(f"ref: refs/heads/{SECRET}\n")


GIT_TRAPS: tuple[Trap, ...] = (
    Trap("git_fsmonitor", configured(("core.fsmonitor", "{run}; false"))),
    Trap("git_fsmonitor_script", configured(("core.fsmonitor", "{script}"))),
    Trap("git_filter", configured(("filter.evil.clean", "{run}; cat"), attributes="* filter=evil\n")),
    Trap("git_filter_process", configured(("filter.evil.process", "{run}"), attributes="* filter=evil\n")),
    Trap("git_textconv", configured(("diff.evil.textconv", "{script} <"), attributes="* diff=evil\n")),
    Trap("git_diff_driver", configured(("diff.evil.command", "{script}"), attributes="* diff=evil\n")),
    Trap("git_external_diff", configured(("diff.external", "{script}"))),
    Trap("git_signature_program", signed),
    Trap("git_configuration_included_from_the_tree", included),
    Trap("git_commondir_of_a_trusted_repository", shared_directory),
    Trap("git_directory_named_by_a_file", named_by_a_file),
    Trap("git_directory_behind_a_link", named_by_a_link),
    Trap("git_bare_repository_in_the_folder", bare),
    Trap("git_inner_repository", submodule),
    Trap("git_hook_after_the_index_changed", hooked(".git/hooks")),
    Trap("git_hooks_path_in_the_tree", hooked(".husky", ".husky")),
    Trap(
        "git_alias",
        configured(("alias.st", "!{run}")),
        by_hand=lambda repo, _: ["git", "-C", str(repo), "st"],
    ),
    Trap(
        "git_branch_that_is_a_link",
        linked_head,
        fired=lambda evidence: SECRET in evidence.requests,
        revive=secret_head,
    ),
)
