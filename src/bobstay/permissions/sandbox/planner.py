"""Finds out which folders a session may write to in the sandbox, and makes its plans."""

import os

from bobstay.permissions.path_resolution import PROTECTED_DIRECTORIES, folded, within
from bobstay.permissions.sandbox import guarded_repository
from bobstay.permissions.sandbox.hidden_paths import HOMES, homes_in
from bobstay.permissions.sandbox.mount_plan import MOST_REPOSITORIES, Plan, PlanBuilder, SandboxSpec, Survey
from bobstay.permissions.sandbox.nested_protected import MOST_HELD, NestedPaths
from bobstay.permissions.sandbox.placeholders import is_stand_in

_NEVER_WRITABLE = ("/proc", "/sys", "/dev", "/etc", "/boot", "/usr", "/bin", "/sbin", "/lib", "/lib64")


class Planner:
    """Makes plans for one session; remembers what it saw of large trees."""

    def __init__(self, spec: SandboxSpec, homes: str = HOMES) -> None:
        """`homes`: the folder in which people have their homes."""
        self.spec = spec
        self._homes = homes
        self._nested: dict[str, NestedPaths] = {}

    def survey(self, directories: tuple[str, ...] = ()) -> Survey:
        """Find out which folders are concerned: they are locked before the plan is made."""
        home = os.path.realpath(self.spec.home)
        roots, refused = [], []
        for wanted in dict.fromkeys((self.spec.root, *directories, *self.spec.writable)):
            spelled = self.spec.home + wanted[1:] if wanted == "~" or wanted.startswith("~/") else wanted
            folder = os.path.realpath(os.path.join(self.spec.root, spelled))
            if within(home, folder) or folder == self._homes or _is_protected(folder):
                refused.append(folder)  # the home directory, all homes, what is protected, or part of the system
            elif os.path.isdir(folder):
                roots.append(folder)
        gits: list[str] = []
        outside: list[str] = []
        for root in roots:
            git = f"{root}/.git"
            found = git if os.path.lexists(git) and not is_stand_in(git) else guarded_repository.above(root)
            if found and not os.path.islink(found):
                gits.append(found)
                outside += guarded_repository.inspect(found).folders[:1]
        outside = [one for one in outside if not any(within(one, root) for root in roots)]
        return Survey(*(tuple(dict.fromkeys(one)) for one in (roots, gits, outside, refused)))

    def plan(self, survey: Survey) -> Plan:
        drawing = PlanBuilder(self.spec, survey)
        drawing.surroundings()
        for folder in dict.fromkeys((os.path.realpath(self.spec.home), *homes_in(self._homes))):
            drawing.home(folder)
        for root in survey.roots:
            drawing.root(root)
            for path in self._below(root)[:MOST_HELD]:
                drawing.nested(path)
        for git in survey.gits:
            drawing.repository(git)
        return Plan(survey.roots, survey.locked, drawing.mounts(), tuple(drawing.pins.items()))

    def obeyed(self, survey: Survey) -> list[str]:
        """All that is below the roots and that programs obey, and the repositories git goes into by itself."""
        found = [path for root in survey.roots for path in self._below(root)]
        waiting = [*survey.gits, *(path for path in found if os.path.basename(path) == ".git")]
        seen: set[str] = set()
        for git in waiting:
            if git in seen or len(seen) > MOST_REPOSITORIES:
                continue
            seen.add(git)
            links = [link for link in guarded_repository.inspect(git).links if os.path.lexists(link)]
            found += links
            waiting += links
        inside = (path for path in found if any(within(path, root) for root in survey.roots))
        return list(dict.fromkeys(inside))

    def guarded_folders(self, survey: Survey) -> list[str]:
        """Git folders whose configuration no sandboxed command can change."""
        return [os.path.realpath(folder) for git in survey.gits for folder in guarded_repository.inspect(git).folders]

    def _below(self, root: str) -> list[str]:
        return self._nested.setdefault(root, NestedPaths(root)).look()


def _is_protected(folder: str) -> bool:
    """Whether a folder is of the system, or is, or lies in, one that is never written without asking."""
    if any(within(folder, place) for place in _NEVER_WRITABLE):
        return True
    parts = folded(folder).split("/")
    for number, part in enumerate(parts):
        # Git folders are guarded part by part, and agents keep work trees in a folder of settings.
        work_tree = part == ".claude" and parts[number + 1 : number + 2] == ["worktrees"] and len(parts) > number + 2
        if part in PROTECTED_DIRECTORIES and part != ".git" and not work_tree:
            return True
    return False
