"""Small hostile scripts. Each does its harm outside the sandbox, in a world made for it, and must fail inside."""

from msgspec import Struct


class Probe(Struct, frozen=True):
    name: str
    script: str
    """For bash, or for Python if `python`. It ends with 0 when the attack seems to have worked."""
    harm: str = ""
    """A path (with variables of the world) that must then hold `token`, seen from outside."""
    token: str = "owned"
    says: str = ""
    """What the script must print to have worked, if it is about reading."""
    python: bool = False
    root_only: bool = False
    """Nobody but root could do it, sandbox or not."""
    made_by_root: bool = False
    """What it attacks can only be made by root."""
    late: bool = False
    """The harm comes when the command has already ended."""
    world: str = "repository"
    """`plain` for a workspace without a repository, `links` for one with links in the place of settings."""
