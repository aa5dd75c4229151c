"""Definitions that people keep as Markdown: commands and skills, agents, output styles, and where each comes from."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

DefinitionSource: TypeAlias = Literal["managed", "user", "project", "added", "plugin", "host", "flag", "bundled"]
"""Who provides a definition: the machine's owner, the user, the project's folders, a folder of `--add-dir`, a plugin,
the host program, the command line, or bobstay itself."""
FROM_FOLDERS = ("project", "added")
"""Sources of definitions that whoever made a folder wrote."""
FileStamp: TypeAlias = tuple[int, int, int]
"""Inode, size and time of the last change: tells whether a file is still the one that was looked at."""


class LibraryNotice(Struct, frozen=True):
    """A problem with one file, for a person: the rest is used."""

    file: str
    text: str
    """What is wrong and what to do."""
    line: int = 0
    """0 if the whole file is meant."""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        text = f"{where}: {self.text}"
        # Others chose these names: they must not move the cursor or fill the screen.
        return "".join(letter if letter.isprintable() else "?" for letter in text)[:600]


class DefinitionOrigin(Struct, frozen=True):
    """Where a definition comes from."""

    source: DefinitionSource
    file: str = ""
    """Empty for definitions from JSON."""
    plugin: str = ""
    """The name of the plugin, for its definitions."""
    trusted: bool = True
    """Whether somebody vouched for the folder. Text of an untrusted folder is only text, and grants nothing."""
    real_file: str = ""
    """The file that `file` leads to, if that is a link."""
    stamp: FileStamp | None = None

    @property
    def label(self) -> str:
        """The source in a word, as lists show it behind a description."""
        return "project" if self.source == "added" else self.source


class DefinitionFolder(Struct, frozen=True):
    """A folder with `commands`, `skills`, `agents` and `output-styles`, and what its files may do."""

    path: str
    source: DefinitionSource
    confined: str = ""
    """The real path of the folder that links may not leave; empty if the user may link anywhere."""
    trusted: bool = True
    grants: bool = True
    plugin: str = ""
    variables: dict[str, str] = {}
    owners: tuple[int, ...] = ()
    """Users whose files count; empty for all. Anybody may write above a project, into a folder such as /tmp."""
    scope: str = ""

    @property
    def prefix(self) -> str:
        return f"{self.plugin}:" if self.plugin else ""


class CommandDefinition(Struct, frozen=True, kw_only=True):
    """A command or a skill. Its body is read when it is used."""

    name: str
    """The name people and models use: `front:comp`, `greet`, `plug:lore`."""
    kind: Literal["command", "skill"]
    origin: DefinitionOrigin
    aliases: tuple[str, ...] = ()
    """Further names: the folder of a skill whose front matter gives it another name."""
    description: str = ""
    described: bool = False
    """Whether the description was written as such, and is not merely the first line of the body."""
    when_to_use: str = ""
    argument_hint: str = ""
    arguments: tuple[str, ...] = ()
    """Names of the arguments by position."""
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    model: str = ""
    effort: str = ""
    model_invocable: bool = True
    user_invocable: bool = True
    fork: bool = False
    """Whether it runs as a child agent, with the body as its prompt."""
    agent: str = ""
    """The type of that child; empty for the default one."""
    paths: tuple[str, ...] = ()
    """Globs: it is listed once a file that one of them matches was read."""
    hooks: dict[str, Any] = {}
    shell: str = "bash"
    folder: str = ""
    """The folder of a skill, which holds the files its body refers to."""
    scope: str = ""
    """The subfolder of the project for which a nested skill is meant."""
    variables: dict[str, str] = {}
    """Values for `${NAME}` in its body, such as the folder of its plugin."""
    withheld: tuple[str, ...] = ()
    """Fields that are ignored because nobody trusts the folder."""

    @property
    def key(self) -> str:
        """The name by which definitions replace one another: the folder or the path, not what the file says."""
        return self.aliases[0] if self.aliases else self.name

    @property
    def has_powers(self) -> bool:
        """Whether calling it changes what may be done, so that the model needs a permission for it."""
        return bool(self.allowed_tools or self.disallowed_tools or self.hooks)


class AgentDefinition(Struct, frozen=True, kw_only=True):
    """A type of agent. The prompt of a file is read when the agent is started."""

    name: str
    description: str
    origin: DefinitionOrigin
    prompt: str = ""
    """The prompt of a definition from JSON."""
    tools: tuple[str, ...] | None = None
    """None for all, () for none."""
    disallowed_tools: tuple[str, ...] = ()
    model: str = ""
    """Empty for the model of the parent."""
    effort: str = ""
    permission_mode: str = ""
    skills: tuple[str, ...] = ()
    max_turns: int | None = None
    hooks: dict[str, Any] = {}
    mcp_servers: tuple[str | dict[str, Any], ...] = ()
    """Names of known servers, and `{name: configuration}`."""
    worktree: bool = False
    memory: Literal["", "user", "project", "local"] = ""
    background: bool | None = None
    initial_prompt: str = ""
    color: str = ""
    variables: dict[str, str] = {}
    withheld: tuple[str, ...] = ()


class OutputStyle(Struct, frozen=True, kw_only=True):
    """A style of answering. Its text is read when it is chosen."""

    name: str
    origin: DefinitionOrigin
    description: str = ""
    keep_coding_instructions: bool = False
    """Whether the model is still told how to work on code and how to answer."""
    variables: dict[str, str] = {}
