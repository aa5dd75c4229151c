"""Whether a person allowed a project's instruction files to import from outside of it, in Claude Code."""

import msgspec

from bobstay.config.paths import Paths
from bobstay.system.safe_read import read_regular

_LARGEST = 32 << 20


def are_external_imports_approved(paths: Paths, cwd: str) -> bool:
    raw = read_regular(paths.global_file, _LARGEST)
    try:
        found = msgspec.json.decode(raw or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    for name in ("projects", cwd):
        found = found.get(name) if isinstance(found, dict) else None
    return isinstance(found, dict) and found.get("hasClaudeMdExternalIncludesApproved") is True
