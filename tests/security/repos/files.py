"""Repositories whose instruction files import, or are, content that the user did not ask for."""

from pathlib import Path

from tests.modelserver import Call
from tests.security.repos.bait import SECRET, Bait, Evidence, Trap, put


def secret_reached_model(evidence: Evidence) -> bool:
    return SECRET in evidence.requests


def imports(repo: Path, _: Bait) -> None:
    put(repo, "docs/more.md", f"{SECRET}\n")
    put(repo, "AGENTS.md", "See @docs/more.md\n")


def imports_from_outside(repo: Path, bait: Bait) -> None:
    put(bait.outside, "private.md", f"{SECRET}\n")
    (repo / "link.md").symlink_to(bait.outside / "private.md")
    put(repo, "AGENTS.md", f"@../outside/private.md @{bait.outside}/private.md @link.md @~/../outside/private.md\n")


def imports_from_inside(repo: Path, bait: Bait) -> None:
    (repo / "link.md").unlink()
    put(repo, "link.md", (bait.outside / "private.md").read_text())


def is_a_link(repo: Path, bait: Bait) -> None:
    put(bait.outside, "private.md", f"{SECRET}\n")
    (repo / "AGENTS.md").symlink_to(bait.outside / "private.md")


def is_no_link(repo: Path, bait: Bait) -> None:
    (repo / "AGENTS.md").unlink()
    put(repo, "AGENTS.md", (bait.outside / "private.md").read_text())


def too_long(repo: Path, _: Bait) -> None:
    put(repo, "AGENTS.md", "x" * (5 << 20) + SECRET)


def short_enough(repo: Path, _: Bait) -> None:
    put(repo, "AGENTS.md", "x" * 1000 + SECRET)


def below(repo: Path, _: Bait) -> None:
    put(repo, "below/AGENTS.md", f"{SECRET}\n")
    put(repo, "below/file.txt", "nothing\n")


def rule_for_paths(repo: Path, _: Bait) -> None:
    put(repo, ".claude/rules/a.md", f"---\npaths: '**/*.txt'\n---\n{SECRET}\n")
    put(repo, "file.txt", "nothing\n")


def output_style(repo: Path, _: Bait) -> None:
    put(repo, ".claude/output-styles/a.md", f"{SECRET}\n")
    put(repo, ".claude/settings.json", '{"outputStyle": "a"}\n')


def ordered(evidence: Evidence) -> bool:
    """Whether the file is among the model's instructions."""
    return "Contents of" in evidence.requests and SECRET in evidence.requests


FILE_TRAPS: tuple[Trap, ...] = (
    Trap("instructions", lambda repo, _: put(repo, "AGENTS.md", f"{SECRET}\n"), fired=ordered),
    Trap("instructions_that_import", imports, fired=secret_reached_model),
    Trap(
        "instructions_that_import_from_outside",
        imports_from_outside,
        fired=secret_reached_model,
        revive=imports_from_inside,
    ),
    Trap("instructions_that_are_a_link", is_a_link, fired=secret_reached_model, revive=is_no_link),
    Trap("instructions_that_never_end", too_long, fired=secret_reached_model, revive=short_enough),
    Trap("rules", lambda repo, _: put(repo, ".claude/rules/a.md", f"{SECRET}\n"), fired=ordered),
    Trap(
        "rules_for_some_paths",
        rule_for_paths,
        fired=secret_reached_model,
        calls=(Call("Read", {"file_path": "file.txt"}, "payload"),),
    ),
    Trap("output_style", output_style, fired=secret_reached_model),
    Trap(
        "instructions_of_an_inner_folder",
        below,
        fired=secret_reached_model,
        calls=(Call("Read", {"file_path": "below/file.txt"}, "payload"),),
    ),
)
