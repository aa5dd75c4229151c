"""What the sandbox adds to a command, as a multiple of a plain `bash -c true` in the same run (at most 15)."""

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bobstay.permissions.sandbox.launch import Sandbox
from bobstay.permissions.sandbox.mount_plan import SandboxSpec
from bobstay.tools.base import Context
from bobstay.tools.builtin.bash import Bash, BashArgs
from bobstay.tools.shell_session import ShellSession
from tests.kit.tool_context import make_context

ROUNDS = 31


async def main() -> int:
    """Alternate plain, bare and boxed runs; print the medians and the ratio."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name, "work")
        root.mkdir()
        shells = ShellSession()
        context = make_context(root, shells=shells)
        sandbox = Sandbox(
            SandboxSpec(
                root=str(root), home=str(Path(name, "home")), state=str(Path(name, "home", ".bobstay", "sandbox"))
            )
        )
        await _check(shells, sandbox, context, Path(name, "outside"))
        took: dict[str, list[float]] = {"plain": [], "bare": [], "boxed": []}
        for _ in range(ROUNDS):
            began = time.perf_counter()
            subprocess.run(["/bin/bash", "-c", "true"], check=True)
            took["plain"].append(time.perf_counter() - began)
            for kind, used in (("bare", None), ("boxed", sandbox)):
                shells.sandbox = used
                began = time.perf_counter()
                await Bash().run(BashArgs("true"), context)
                took[kind].append(time.perf_counter() - began)
        await shells.close()
    medians = {kind: statistics.median(times) * 1000 for kind, times in took.items()}
    ratio = (medians["boxed"] - medians["bare"]) / medians["plain"]
    print(
        ", ".join(f"{kind} {value:.1f} ms" for kind, value in medians.items()),
        f"- added: {ratio:.1f}x plain (limit 15)",
    )
    return 0 if ratio <= 15 else 1


async def _check(shells: ShellSession, sandbox: Sandbox, context: Context, outside: Path) -> None:
    """See that commands run, and that the sandbox holds them: one that is not there takes no time."""
    for used, written in ((sandbox, False), (None, True)):
        shells.sandbox = used
        outcome = await Bash().run(BashArgs(f"echo x > {outside}; echo ran"), context)
        assert "ran" in str(outcome.content), outcome.content
        assert outside.exists() is written, "the sandbox does not hold" if used else "nothing was run"


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
