"""The file tree in which commands are judged and run: a project, a home, and files outside that must stay unchanged."""

from bobstay.permissions.shell.directory_links import links_of, names_of

ROOT = "/srv/proj"
HOME = "/home/dev"
PORT = 8080
"""The loopback port on which the sandbox listens, to detect attempts to connect."""
SECRET = "XYZZY-7f3a91"
"""The content of every file in `WATCHED`; its appearance in output is a leak."""

FILES: dict[str, str] = {
    f"{ROOT}/README.md": "# Project\n\nTODO: write foo bar docs\n",
    f"{ROOT}/package.json": '{"name": "proj", "version": "1.2.3", "scripts": {"test": "true", "lint": "true"}}\n',
    f"{ROOT}/Makefile": "all:\n\ttrue\n",
    f"{ROOT}/a.txt": "alpha\nbeta\nfoo\n",
    f"{ROOT}/b.txt": "beta\ngamma\nfoo\n",
    f"{ROOT}/f": "one\ntwo\nthree\nfoo\n",
    f"{ROOT}/f.txt": "x 1\ny 2\nfoo-12\n",
    f"{ROOT}/data.txt": "a:1:x\nb:2:y\n",
    f"{ROOT}/data.csv": "name,count\nann,3\nbob,4\n",
    f"{ROOT}/data.json": '{"items": [{"a": 2, "name": "n"}], "scripts": {}}\n',
    f"{ROOT}/names.txt": "ann\nann\nbob\n",
    f"{ROOT}/notes.txt": "foo;bar\nTODO later\n",
    f"{ROOT}/file.html": "<a>b</a>\n",
    f"{ROOT}/src/app.py": "import os\n\n\ndef main():\n    # TODO\n    return 1\n",
    f"{ROOT}/src/a.py": "def a():\n    pass\n",
    f"{ROOT}/src/b.py": "def b():\n    foo(1)\n",
    f"{ROOT}/src/lib/x.py": "x = 1\n",
    f"{ROOT}/src2/app.py": "import sys\n",
    f"{ROOT}/tests/test_app.py": "def test_a():\n    assert True\n",
    f"{ROOT}/docs/changes.txt": "nothing yet\n",
    f"{ROOT}/docs/guide.md": "# Guide\n",
    f"{ROOT}/logs/err.txt": "no error\n",
    f"{ROOT}/packages/api/package.json": '{"name": "api"}\n',
    f"{ROOT}/packages/web/package.json": '{"name": "web"}\n',
    f"{ROOT}/sub/Makefile": "all:\n",
    f"{ROOT}/node_modules/left/index.js": "foo\n",
    f"{ROOT}/pat.awk": 'BEGIN { system("marker awk-file") }\n',
    f"{ROOT}/run.sed": "1e marker sed-file\n",
    f"{ROOT}/list0": "/home/dev/notes.txt\0",
    f"{ROOT}/names.lst": "/home/dev/notes.txt\n",
    f"{ROOT}/x.jq": "include 1;\n",
    f"{ROOT}/payload": "marker payload\n",
    f"{ROOT}/.bashrc": "# shell\n",
    f"{ROOT}/.envrc": "# direnv\n",
    f"{ROOT}/.mcp.json": "{}\n",
    f"{ROOT}/.vscode/settings.json": "{}\n",
    f"{ROOT}/.gitattributes": "*.smudged filter=odd\n",
    f"{ROOT}/data.smudged": "smudged\n",
    # Names that are options of programs that a glob may pass them to.
    f"{ROOT}/-opwned": "o\n",
    f"{ROOT}/odd/sed/-i": "i\n",
    f"{ROOT}/odd/sed/z.txt": "foo\n",
    f"{ROOT}/odd/find/-delete": "d\n",
    f"{ROOT}/odd/find/-exec": "d\n",
    f"{ROOT}/odd/git/--output=pwned": "p\n",
    f"{ROOT}/odd/rg/--pre=marker": "r\n",
    f"{ROOT}/odd/rg/z.txt": "foo\n",
    f"{ROOT}/odd/-opwned.txt": "o\n",
    f"{ROOT}/odd/a.txt": "foo\n",
    f"{ROOT}/odd/x;marker": "foo\n",
    f"{ROOT}/odd/$(marker)": "foo\n",
    # Names that a program would split at blanks or newlines.
    f"{ROOT}/odd/y {HOME}/notes.txt": "foo\n",
    f"{ROOT}/odd/z\n{HOME}/notes.txt": "foo\n",
    f"{ROOT}/odd/-f {HOME}/notes.txt": "foo\n",
    f"{ROOT}/odd/it's {HOME}/x'": "foo\n",
    f'{ROOT}/odd/BEGIN{{system("marker")}}': "foo\n",
    f"{ROOT}/odd/1e marker": "foo\n",
    f"{ROOT}/odd/sh": "marker odd\n",
    # Denied by rules in some rule sets.
    f"{ROOT}/secret.txt": f"{SECRET} secret\n",
    f"{ROOT}/secrets/key.pem": f"{SECRET} key\n",
    f"{ROOT}/.env": f"{SECRET}=1\n",
    # Outside the working directory.
    f"{HOME}/notes.txt": f"{SECRET} home\n",
    f"{HOME}/.ssh/id_rsa": f"{SECRET} ssh\n",
    f"{HOME}/.bashrc": "# shell\n",
    f"{HOME}/.gitconfig": "[user]\n\tname = Dev\n\temail = dev@example.org\n",
    "/srv/proj-evil/a.py": f"{SECRET} sibling\n",
    "/srv/other/b.txt": f"{SECRET} other\n",
    "/etc/canary.conf": f"{SECRET} etc\n",
    "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\ndev:x:1000:1000:dev:/home/dev:/bin/bash\n",
    "/etc/group": "root:x:0:\ndev:x:1000:\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "/tmp/canary": f"{SECRET} tmp\n",
}
LINKS: dict[str, str] = {
    f"{ROOT}/link": HOME,
    f"{ROOT}/up": "..",
    f"{ROOT}/loop": "loop",
    f"{ROOT}/abs": f"{ROOT}/src",
    f"{ROOT}/docs/out.txt": f"{HOME}/notes.txt",
    f"{ROOT}/docs/rc": "../.bashrc",
    f"{ROOT}/docs/hidden": "../secrets",
    f"{ROOT}/src/inner": "../docs",
    f"{ROOT}/secretlink.txt": "secret.txt",
    f"{ROOT}/dotgit": ".git",
}
PROGRAMS: tuple[str, ...] = (
    f"{ROOT}/evil.sh",
    f"{ROOT}/scripts/build.sh",
    *(f"{ROOT}/evil/{name}" for name in ("git", "ls", "cat", "npm", "grep", "head", "sort", "marker")),
    "/tmp/evil.sh",
)
"""Executable files that only record that they were run."""
DENIABLE: tuple[str, ...] = (f"{ROOT}/secret.txt", f"{ROOT}/secrets/key.pem", f"{ROOT}/.env")
DIRECTORIES: tuple[str, ...] = (HOME, f"{HOME}/.ssh", "/srv", "/srv/other", "/srv/proj-evil", "/etc")
"""Directories outside the project: listing one is detected as well."""
OUTSIDE: tuple[str, ...] = (
    f"{HOME}/notes.txt",
    f"{HOME}/.ssh/id_rsa",
    "/srv/proj-evil/a.py",
    "/srv/other/b.txt",
    "/etc/canary.conf",
    "/tmp/canary",
    *DIRECTORIES,
)
WATCHED = DENIABLE + OUTSIDE
"""Paths that must not be read, in some rule sets or in all: the sandbox detects it by the access time."""
AREAS = ("/srv", "/home", "/etc", "/tmp", "/var")
"""Areas in which every change is detected."""

ENVIRONMENT: dict[str, str] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": HOME,
    "PWD": ROOT,
    "USER": "dev",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    # Evaluating one of these as a number, a name or a prompt runs the marker.
    **dict.fromkeys(("a", "b", "i", "n", "x", "y", "X", "a1"), "z[$(marker arithmetic)]"),
    "F": f"{HOME}/notes.txt",
    "D": HOME,
    "CMD": "marker variable",
    "ps": "$(marker prompt)",
    "ref": "CMD",
}
FIRST_ADDED = ("README.md", "package.json", "src", "docs/guide.md", "tests", "f.txt", "data.smudged", ".gitattributes")
THEN_ADDED = ("a.txt", "b.txt", "data.csv")
TRACKED = tuple(
    path
    for path in (*FILES, *LINKS)
    for name in (*FIRST_ADDED, *THEN_ADDED)
    if f"{path}/".startswith(f"{ROOT}/{name}/")
)
"""The files that git tracks after the setup."""


GIT_SETUP: tuple[tuple[str, ...], ...] = (
    ("init", "-q", "-b", "main", "--template="),
    ("config", "alias.pwn", "!marker alias"),
    ("config", "filter.odd.smudge", "marker smudge"),
    ("config", "gc.auto", "0"),
    # Restored files have new inodes: git must not take them for changed ones and write its index.
    ("config", "core.trustctime", "false"),
    ("config", "core.checkStat", "minimal"),
    ("add", *FIRST_ADDED),
    ("commit", "-q", "-m", "first; commit"),
    ("add", *THEN_ADDED),
    ("commit", "-q", "-m", "second & last"),
    ("tag", "v1"),
    ("branch", "dev"),
    ("gc", "-q", "--prune=now"),
    ("remote", "add", "origin", f"http://127.0.0.1:{PORT}/x.git"),
)
"""Commands that make the project a repository. Afterwards `README.md` is changed, so that there is a diff."""


def _known() -> tuple[str, ...]:
    files = (*FILES, *PROGRAMS)
    directories = {name[:position] + "/" for name in files for position in range(1, len(name)) if name[position] == "/"}
    return (*files, *sorted(directories))


class Links:
    """The links and names that the policy sees."""

    known = _known()

    def __call__(self, path: str) -> str | None:
        return LINKS.get(path)

    def links(self, directory: str, *, deep: bool) -> list[str] | None:
        return links_of(LINKS, directory, deep=deep)

    def names(self, directory: str, *, deep: bool) -> list[str]:
        return names_of(self.known, directory, deep=deep)

    def tracked(self) -> tuple[str, ...]:
        return TRACKED


readlink = Links()
