"""Refuses calls of the system that one module makes for all others: locks, replacing a file, reading what may block."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path("src/bobstay")
SYSTEM = PACKAGE / "system"
OWNERS = {
    "fcntl.flock": SYSTEM / "file_lock.py",
    "fcntl.lockf": SYSTEM / "file_lock.py",
    "os.lockf": SYSTEM / "file_lock.py",
    "os.rename": SYSTEM / "atomic_file.py",
    "os.renames": SYSTEM / "atomic_file.py",
    "os.replace": SYSTEM / "atomic_file.py",
    "shutil.move": SYSTEM / "atomic_file.py",
    "os.O_NONBLOCK": SYSTEM / "safe_read.py",
}
EXCEPTIONS = {
    ("os.O_NONBLOCK", PACKAGE / "server/files/confined_open.py"): "opens each component of a path beneath a directory",
}
"""Other modules that may use a name, with the reason."""


def main(root: Path = Path()) -> int:
    found: list[str] = []
    used: set[tuple[str, Path]] = set()
    for path in sorted((root / PACKAGE).rglob("*.py")):
        module = path.relative_to(root)
        for line, name in _system_names(ast.parse(path.read_text(encoding="utf-8"))):
            used.add((name, module))
            if module != OWNERS[name] and (name, module) not in EXCEPTIONS:
                found.append(f"{module}:{line}: {name}: use {OWNERS[name].relative_to(PACKAGE)}")
    found += [f"{module}: needs no exception for {name}" for name, module in EXCEPTIONS.keys() - used if root == Path()]
    for problem in found:
        print(problem)
    print(f"system call check: {len(found)} problems, {len(EXCEPTIONS)} exceptions")
    return 1 if found else 0


def _system_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the full name of each use, also if a module is imported under another name."""
    aliases = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=attribute):
                names = [f"{aliases.get(module, module)}.{attribute}"]
            case ast.ImportFrom(module=module, names=imported):
                names = [f"{module}.{alias.name}" for alias in imported]
            case _:
                continue
        yield from ((node.lineno, name) for name in names if name in OWNERS)


if __name__ == "__main__":
    sys.exit(main())
