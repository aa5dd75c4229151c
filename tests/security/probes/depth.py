"""Attacks by files that do not exist yet, in folders below the workspace and in submodules."""

from tests.security.probes import Probe

_HOSTILE = "git -C $WS/{0} config core.fsmonitor owned"
_LISTED = "git -C $WS update-index --add --cacheinfo 160000,1234567890123456789012345678901234567890,{0}"


def _repository(where: str, more: str = "true") -> str:
    return f"cd $WS; mkdir -p {where}; git init -q {where}; {_HOSTILE.format(where)}; {more.format(where)}"


BELOW = (
    *(
        Probe(f"make {path}", f"mkdir -p $(dirname $WS/{path}); echo owned > $WS/{path}", f"$WS/{path}")
        for path in (
            "sub/.claude/settings.json",
            "sub/.mcp.json",
            "sub/.bashrc",
            "new/.npmrc",
            "new/deeper/still/.vscode/tasks.json",
            "new/.gitmodules",
            "new/.ENVRC",
        )
    ),
    Probe(
        "swap a folder for another with other settings",
        "cd $WS; mv sub s; mkdir sub; echo owned > sub/.envrc",
        "$WS/sub/.envrc",
    ),
    Probe("rename settings to their name below", "echo owned > $WS/n; mv $WS/n $WS/sub/.zshrc", "$WS/sub/.zshrc"),
    Probe("link settings below", "echo owned > $WS/n; ln -s ../n $WS/sub/.zshrc", "$WS/sub/.zshrc"),
)

REPOSITORIES = (
    Probe("make a hostile repository below", _repository("new"), "$WS/new/.git/config"),
    Probe("make a hostile repository far below", _repository("a/b/c/d/e"), "$WS/a/b/c/d/e/.git/config"),
    Probe(
        "make one with a hook",
        "cd $WS; git init -q new; echo owned > new/.git/hooks/post-checkout; chmod +x new/.git/hooks/post-checkout",
        "$WS/new/.git/hooks/post-checkout",
    ),
    Probe(
        "make one among fetched things and list it",
        _repository("node_modules/x", _LISTED),
        "$WS/node_modules/x/.git/config",
    ),
    Probe(
        "make one deeper than anybody looks and list it",
        _repository("a/b/c/d/e/f/g/h/i", _LISTED),
        "$WS/a/b/c/d/e/f/g/h/i/.git/config",
    ),
    Probe(
        "make a decent one that lists a hostile one",
        "cd $WS; git init -q new; git init -q new/node_modules/y; "
        "git -C new/node_modules/y config core.fsmonitor owned; "
        "git -C new update-index --add --cacheinfo 160000,1234567890123456789012345678901234567890,node_modules/y",
        "$WS/new/.git/HEAD",
        token="ref",
    ),
    Probe(
        "make one and lead to it by a link",
        f"{_repository('x')}; mv x/.git y; ln -s ../y x/.git",
        "$WS/x/.git/config",
    ),
    Probe(
        "make one and lead to it by a file",
        f"{_repository('x')}; mv x/.git y; echo 'gitdir: ../y' > x/.git",
        "$WS/x/.git",
        token="gitdir",
    ),
    Probe(
        "make one that takes its configuration from elsewhere",
        f"{_repository('x')}; git init -q y; rm y/.git/config; echo ../../x/.git > y/.git/commondir",
        "$WS/y/.git/commondir",
        token="x/.git",
    ),
    Probe(
        "make one that includes a configuration",
        "cd $WS; git init -q x; echo owned > inc; git -C x config include.path ../../inc",
        "$WS/x/.git/config",
        token="include",
    ),
    Probe(
        "make a folder a bare repository",
        "cd $WS; git init -q --bare x; git -C x config core.fsmonitor owned",
        "$WS/x/HEAD",
        token="ref",
    ),
    Probe(
        "put a repository in the place of a submodule's",
        "cd $WS/vendor/v; rm -f .git; git init -q; git config core.fsmonitor owned",
        "$WS/vendor/v/.git/config",
    ),
    Probe(
        "be a submodule that is not there yet",
        "cd $WS/vendor/later; git init -q; git config core.fsmonitor owned",
        "$WS/vendor/later/.git/config",
    ),
    Probe(
        "configure another work tree",
        "echo owned > $WS/.git/worktrees/other/config.worktree",
        "$WS/.git/worktrees/other/config.worktree",
    ),
    Probe("change what the configuration includes", "echo owned >> $WS/shared/git.inc", "$WS/shared/git.inc"),
    Probe("make what the configuration includes", "echo owned > $WS/shared/later.inc", "$WS/shared/later.inc"),
    Probe(
        "swap the folder of what the configuration includes",
        "cd $WS; mv shared s; mkdir shared; echo owned > shared/git.inc",
        "$WS/shared/git.inc",
    ),
    Probe(
        "swap the folder that hooks are in",
        "cd $WS; mv scripts s; mkdir -p scripts/hooks; echo owned > scripts/hooks/pre-push",
        "$WS/scripts/hooks/pre-push",
    ),
    Probe(
        "swap the folder that submodules are in",
        "cd $WS; mv vendor w; mkdir -p vendor/v; cd vendor/v; git init -q; git config core.fsmonitor owned",
        "$WS/vendor/v/.git/config",
    ),
    Probe("change the configuration of a bare repository", "echo owned >> $WS/bare.git/config", "$WS/bare.git/config"),
)
