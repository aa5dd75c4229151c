"""Environment variables that hooks export through CLAUDE_ENV_FILE, for the commands of the session."""

import os
from collections.abc import Mapping

from bobstay.config.secret_variables import UNSAFE_VARIABLES
from bobstay.hooks.hook_event import HookRunResult

_SHELL_VARIABLES = frozenset({"_", "SHLVL", "PWD", "OLDPWD"})
_SECONDS = 10.0


async def read_exports(folder: str, environment: Mapping[str, str], cwd: str) -> tuple[dict[str, str], str]:
    """Read the variables in the files of `folder`; a shell evaluates them, so `$PATH` etc. expand.

    Returns the new variables, and what a person should know; "" if all went well.
    """
    files = sorted(entry.path for entry in os.scandir(folder) if entry.is_file() and entry.stat().st_size)
    if not files:
        return {}, ""
    from bobstay.hooks.command_hook import run_command, shell

    script = 'for file; do . "$file"; done >/dev/null </dev/null; exec env -0'
    try:
        result = await run_command(shell(script, *files), b"", cwd=cwd, environment=environment, limit=_SECONDS)
    except OSError as error:
        result = HookRunResult(None, "", str(error))
    if result.code != 0:
        why = result.stderr.strip()[:500] or "the shell did not finish"
        return {}, f"could not be read: {why}."
    from bobstay.system.process_tree import MARK

    ignored = _SHELL_VARIABLES | UNSAFE_VARIABLES | {MARK}
    pairs = (line.partition("=") for line in result.stdout.split("\0") if "=" in line)
    found = {name: value for name, _, value in pairs if name not in ignored and environment.get(name) != value}
    return found, result.stderr.strip()[:500]
