"""Small hostile scripts. Each does harm outside the sandbox, in a disposable environment, and must fail inside."""

from msgspec import Struct


class Probe(Struct, frozen=True):
    name: str
    script: str
    """For bash, or for Python if `python`. It ends with 0 when the attack seems to have worked."""
    harm: str = ""
    """A path (with variables of the probe host) that then contains `token`, seen from outside."""
    token: str = "owned"
    says: str = ""
    """The output that shows success, if the probe is about reading."""
    python: bool = False
    root_only: bool = False
    """Only root could do it, with or without a sandbox."""
    made_by_root: bool = False
    """Its target can only be created by root."""
    late: bool = False
    """The harm is done after the command has ended."""
    workspace: str = "repository"
    """`plain` for a workspace without a repository, `links` for one with links in place of settings."""
