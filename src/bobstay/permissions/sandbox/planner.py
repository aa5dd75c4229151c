"""Determines the writable folders of a session's sandbox and builds its mount plans."""

import os

from bobstay.permissions.path_resolution import PROTECTED_DIRECTORIES, folded, within
from bobstay.permissions.sandbox import guarded_repository
from bobstay.permissions.sandbox.hidden_paths import HOMES, homes_in
from bobstay.permissions.sandbox.mount_plan import MOST_REPOSITORIES, Plan, PlanBuilder, SandboxSpec, Survey
from bobstay.permissions.sandbox.nested_protected import MOST_HELD, NestedPaths
from bobstay.permissions.sandbox.placeholders import is_placeholder

_NEVER_WRITABLE = ("/proc", "/sys", "/dev", "/etc", "/boot", "/usr", "/bin", "/sbin", "/lib", "/lib64")


class Planner:
    """Builds plans for one session; caches its searches of large trees."""

    def __init__(self, spec: SandboxSpec, homes: str = HOMES) -> None:
        """`homes`: the parent folder of home directories."""
        self.spec = spec
        self._homes = homes
        self._nested: dict[str, NestedPaths] = {}

    def survey(self, directories: tuple[str, ...] = ()) -> Survey:
        """Determine which folders are involved: they are locked before the plan is built."""
        home = os.path.realpath(self.spec.home)
        roots, refused = [], []
        for wanted in dict.fromkeys((self.spec.root, *directories, *self.spec.writable)):
            spelled = self.spec.home + wanted[1:] if wanted == "~" or wanted.startswith("~/") else wanted
            folder = os.path.realpath(os.path.join(self.spec.root, spelled))
            if within(home, folder) or folder == self._homes or _is_protected(folder):
                refused.append(folder)  # the home directory, all homes, a protected folder, or part of the system
            elif os.path.isdir(folder):
                roots.append(folder)
        gits: list[str] = []
        outside: list[str] = []
        for root in roots:
            git = f"{root}/.git"
            found = git if os.path.lexists(git) and not is_placeholder(git) else guarded_repository.find_above(root)
            if found and not os.path.islink(found):
                gits.append(found)
                outside += guarded_repository.inspect(found).folders[:1]
        outside = [one for one in outside if not any(within(one, root) for root in roots)]
        return Survey(*(tuple(dict.fromkeys(one)) for one in (roots, gits, outside, refused)))

    def plan(self, survey: Survey) -> Plan:
        builder = PlanBuilder(self.spec, survey)
        builder.add_base_mounts()
        for folder in dict.fromkeys((os.path.realpath(self.spec.home), *homes_in(self._homes))):
            builder.add_home(folder)
        for root in survey.roots:
            builder.add_root(root)
            for path in self._below(root)[:MOST_HELD]:
                builder.add_nested(path)
        for git in survey.gits:
            builder.add_repository(git)
        return Plan(survey.roots, survey.locked, builder.sorted_mounts(), tuple(builder.pins.items()))

    def autoloaded_paths(self, survey: Survey) -> list[str]:
        """Paths below the roots that programs execute or load, and repositories that git enters by itself."""
        found = [path for root in survey.roots for path in self._below(root)]
        waiting = [*survey.gits, *(path for path in found if os.path.basename(path) == ".git")]
        visited: set[str] = set()
        for git in waiting:
            if git in visited or len(visited) > MOST_REPOSITORIES:
                continue
            visited.add(git)
            links = [link for link in guarded_repository.inspect(git).links if os.path.lexists(link)]
            found += links
            waiting += links
        inside = (path for path in found if any(within(path, root) for root in survey.roots))
        return list(dict.fromkeys(inside))

    def guarded_folders(self, survey: Survey) -> list[str]:
        """Git directories whose configuration no sandboxed command can change."""
        return [os.path.realpath(folder) for git in survey.gits for folder in guarded_repository.inspect(git).folders]

    def _below(self, root: str) -> list[str]:
        return self._nested.setdefault(root, NestedPaths(root)).find()


def _is_protected(folder: str) -> bool:
    """Whether a folder belongs to the system, or is in a protected folder."""
    if any(within(folder, directory) for directory in _NEVER_WRITABLE):
        return True
    parts = folded(folder).split("/")
    for number, part in enumerate(parts):
        # Git directories are protected path by path, and agents keep worktrees in `.claude/worktrees`.
        is_worktree = part == ".claude" and parts[number + 1 : number + 2] == ["worktrees"] and len(parts) > number + 2
        if part in PROTECTED_DIRECTORIES and part != ".git" and not is_worktree:
            return True
    return False
