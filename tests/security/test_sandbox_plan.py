"""The plan of a sandbox: protected paths, environment, system call filter and availability (H5-8)."""

import os
import struct
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.permissions.path_resolution import PROTECTED_DIRECTORIES, PROTECTED_FILES
from bobstay.permissions.sandbox import availability, guarded_repository, seatbelt, seccomp
from bobstay.permissions.sandbox.mount_plan import Plan, SandboxSpec
from bobstay.permissions.sandbox.nested_protected import NestedPaths
from bobstay.permissions.sandbox.planner import Planner
from bobstay.permissions.sandbox.sandbox_variables import sandbox_environment
from bobstay.permissions.sandbox.symlink_trail import trace


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "home").mkdir()
    return tmp_path / "work"


def plan(work: Path, *added: str, **more: object) -> Plan:
    home = str(work.parent / "home")
    planner = Planner(SandboxSpec(root=str(work), home=home, state=f"{home}/.bobstay/sandbox", **more))  # type: ignore[arg-type]  # fields of SandboxSpec
    return planner.plan(planner.survey(added))


def held(made: Plan) -> set[str]:
    return {mount.path for mount in made.mounts if mount.how in ("read", "empty", "blank")}


def test_every_protected_name_is_held_in_every_root(work: Path, tmp_path: Path) -> None:
    """RULES 5.5, present or not."""
    added = tmp_path / "added"
    added.mkdir()
    found = held(plan(work, str(added)))
    for root in (work, added):
        assert {f"{root}/{name}" for name in PROTECTED_DIRECTORIES | PROTECTED_FILES} <= found


def test_parents_come_before_what_lies_in_them(work: Path) -> None:
    (work / "sub/.git/hooks").mkdir(parents=True)
    (work / "sub/.git/HEAD").write_text("ref: x")
    paths = [mount.path for mount in plan(work).mounts]
    for index, path in enumerate(paths):
        assert not any(path.startswith(f"{later}/") for later in paths[index + 1 :]), path


@pytest.mark.parametrize(
    ("file", "setting"),
    [
        ("shop/.git/config", "[core]\n\thooksPath = ~/shop/mine\n"),
        ("shop/.git/config", "[include]\n\tpath = ~/shop/mine\n"),
        (".gitconfig", "[core]\n\thooksPath = ~/shop/mine\n"),
    ],
)
def test_what_a_configuration_names_in_the_users_home_is_held(tmp_path: Path, file: str, setting: str) -> None:
    home, shop = tmp_path / "home", tmp_path / "home/shop"
    (shop / ".git").mkdir(parents=True)
    (home / file).write_text(setting)
    planner = Planner(SandboxSpec(root=str(shop), home=str(home), state=f"{home}/.bobstay/sandbox"))
    assert f"{shop}/mine" in held(planner.plan(planner.survey()))


def test_neither_home_nor_system_becomes_writable(work: Path) -> None:
    made = plan(work, "/", "/etc", "/usr/local", str(work.parent), str(work.parent / "home"), "/proc/self", "/dev/shm")
    assert made.roots == (str(work),)


@pytest.mark.parametrize("name", [".cargo", ".vscode/sub", ".bobstay", ".claude", ".claude/skills", ".Husky"])
def test_a_protected_folder_does_not_become_writable_by_being_worked_in(work: Path, name: str) -> None:
    folder = work / name
    folder.mkdir(parents=True)
    assert plan(work, str(folder)).roots == (str(work),)
    home = str(work.parent / "home")
    planner = Planner(SandboxSpec(root=str(folder), home=home, state=f"{home}/.bobstay/sandbox"))
    assert planner.survey().roots == ()


def test_what_is_obeyed_at_home_is_held_though_a_folder_around_it_may_be_written(work: Path) -> None:
    home = work.parent / "home"
    (home / ".config/fish").mkdir(parents=True)
    made = plan(work, writable=("~/.config",))
    assert str(home / ".config") in made.roots
    assert {f"{home}/.config/{name}" for name in ("git", "fish", "autostart", "systemd")} <= held(made)


def test_the_home_of_another_is_held_like_ones_own(tmp_path: Path) -> None:
    """Root may work in any user's home."""
    (tmp_path / "homes/dev").mkdir(parents=True)
    (tmp_path / "root").mkdir()
    spec = SandboxSpec(
        root=str(tmp_path / "homes/dev"), home=str(tmp_path / "root"), state=str(tmp_path / "root/state")
    )
    planner = Planner(spec, homes=str(tmp_path / "homes"))
    found = held(planner.plan(planner.survey()))
    assert {f"{tmp_path}/homes/dev/{name}" for name in (".ssh", ".config", ".zlogin", ".bashrc")} <= found
    above = Planner(msgspec.structs.replace(spec, root=str(tmp_path / "homes")), homes=str(tmp_path / "homes"))
    assert above.survey().roots == ()


def test_hooks_that_the_user_keeps_in_every_repository_are_held(work: Path) -> None:
    (work / ".git").mkdir()
    (work / ".git/HEAD").write_text("ref: x")
    (work / "tools").mkdir()
    (work.parent / "home/.gitconfig").write_text("[core]\n\thooksPath = tools/hooks\n")
    assert f"{work}/tools/hooks" in held(plan(work))


def test_a_hidden_folder_hides_what_is_protected_in_it_but_not_a_workspace_in_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    work = home / ".claude/worktrees/one"
    work.mkdir(parents=True)
    planner = Planner(SandboxSpec(root=str(work), home=str(home), state=str(home / ".bobstay/sandbox")))
    mounts = {mount.path: mount.how for mount in planner.plan(planner.survey()).mounts}
    assert mounts[f"{home}/.claude"] == "blank"
    assert mounts[str(work)] == "write"
    assert mounts[f"{work}/.mcp.json"] == "empty"


def test_a_link_to_a_key_in_the_place_of_settings_shows_nothing(work: Path) -> None:
    key = work.parent / "home/.ssh/id"
    key.parent.mkdir()
    key.write_text("secret")
    (work / ".npmrc").symlink_to(key)
    ((link, cover),) = plan(work).pins
    assert (link, Path(cover).read_text()) == (f"{work}/.npmrc", "")


def test_a_way_through_links_names_all_that_could_be_swapped(work: Path) -> None:
    (work / "real/deep").mkdir(parents=True)
    (work / "real/deep/file").write_text("")
    (work / "way").symlink_to("real")
    (work / ".envrc").symlink_to("way/deep/file")
    found = trace(f"{work}/.envrc", lambda _: True)
    assert found.links == (f"{work}/.envrc", f"{work}/way")
    assert found.folders == (f"{work}/real", f"{work}/real/deep")
    assert found.end == f"{work}/real/deep/file"


@given(st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=6))
def test_links_that_never_end_are_followed_to_an_end(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("loop")
    for name, target in (("a", "b"), ("b", "/".join(parts)), ("c", "a/..")):
        (folder / name).symlink_to(target)
    assert len(trace(f"{folder}/a", lambda _: True).links) <= 3


def test_a_protected_file_made_meanwhile_is_seen_at_once(work: Path) -> None:
    (work / "one/two").mkdir(parents=True)
    (work / "node_modules/x").mkdir(parents=True)
    nested = NestedPaths(str(work))
    assert nested.find() == []
    (work / "one/two/.envrc").write_text("")
    (work / "node_modules/x/.envrc").write_text("")
    os.utime(work / "one/two", (0, 0))
    assert nested.find() == [f"{work}/one/two/.envrc"]
    assert nested.find() == [f"{work}/one/two/.envrc"]


def test_a_git_file_is_believed_only_if_the_folder_points_back(tmp_path: Path) -> None:
    main, tree = tmp_path / "main/.git", tmp_path / "tree"
    own = main / "worktrees/tree"
    own.mkdir(parents=True)
    tree.mkdir()
    for path in (main / "HEAD", own / "HEAD"):
        path.write_text("ref: x\n")
    (own / "commondir").write_text("../..\n")
    (tree / ".git").write_text(f"gitdir: {own}\n")
    (own / "gitdir").write_text(f"{tmp_path}/another/.git\n")
    assert guarded_repository.inspect(f"{tree}/.git").folders == ()
    (own / "gitdir").write_text(f"{tree}/.git\n")
    assert guarded_repository.inspect(f"{tree}/.git").folders[0] == str(main)


def test_a_variable_is_passed_by_its_name_or_not_at_all() -> None:
    given = {"PATH": "/bin", "LC_ALL": "C", "SSH_AUTH_SOCK": "s", "LD_PRELOAD": "x", "WANTED": "w", "DBUS_X": "d"}
    found = sandbox_environment({**given, "GIT_SSH_COMMAND": "ssh"}, ("WANTED",), temporary="/t", proxy=False)
    assert set(found) & {*given, "GIT_SSH_COMMAND"} == {"PATH", "LC_ALL", "WANTED"}
    assert (found["TMPDIR"], "http_proxy" in found) == ("/t", False)


@pytest.mark.parametrize("machine", seccomp.ARCHITECTURES)
def test_the_filter_jumps_only_forward_and_within_itself(machine: str) -> None:
    for unix_sockets in (False, True):
        for internet in (False, True):
            steps = list(
                struct.iter_unpack(
                    "=HBBI", seccomp.program(unix_sockets=unix_sockets, internet=internet, machine=machine)
                )
            )
            assert steps[-1][0] == 0x06
            for index, (code, yes, no, _) in enumerate(steps):
                if code & 0x07 == 0x05:
                    assert index + 1 + max(yes, no) < len(steps)


def test_an_unknown_processor_has_no_filter_and_so_no_sandbox() -> None:
    with pytest.raises(LookupError, match="vax"):
        seccomp.program(machine="vax")


def test_a_program_in_the_workspace_is_never_the_sandbox(work: Path) -> None:
    fake = work / "bin/bwrap"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    assert not availability.find(f"{fake.parent}:relative", str(work)).startswith(str(work))


def test_what_there_is_is_tried_and_told() -> None:
    found = availability.available()
    assert found.kind in ("bwrap", "landlock", "")
    assert dict(found.found)["bwrap"] == "" or "apt-get install bubblewrap" in found.refusal


def test_the_profile_for_macos_says_that_it_is_unverified(work: Path) -> None:
    text = seatbelt.profile(plan(work), "/private/tmp/x")
    assert "unverified" in text
    assert text.index(f'(allow file-write* (subpath "{work}"))') < text.index(
        f'(deny file-write* (subpath "{work}/.mcp.json"))'
    )
    assert "(deny network*)" in text
