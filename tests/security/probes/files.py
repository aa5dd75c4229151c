"""Attacks on files: outside the workspace, loaded by programs, or with keys."""

from tests.security.probes import Probe

WRITING = (
    Probe("write beside the workspace", "echo owned > $OUT/file", "$OUT/file"),
    Probe("write to the home", "echo owned > $HOME/file", "$HOME/file"),
    Probe("append to a shell's start file", "echo owned >> $HOME/.bashrc", "$HOME/.bashrc"),
    Probe(
        "put a program on the path",
        "mkdir -p $HOME/.local/bin; echo owned > $HOME/.local/bin/ls",
        "$HOME/.local/bin/ls",
    ),
    Probe("write through a link that leads out", "ln -s $OUT $WS/way; echo owned > $WS/way/file", "$OUT/file"),
    Probe("write through a hard link", "ln $OUT/precious $WS/same && echo owned > $WS/same", "$OUT/precious"),
    Probe("write through a path with dots", "echo owned > $WS/../outside/file", "$OUT/file"),
    Probe(
        "write to the log of a session",
        "echo owned >> $HOME/.bobstay/sessions/one.jsonl",
        "$HOME/.bobstay/sessions/one.jsonl",
    ),
    Probe("write to the user's settings", "echo owned > $HOME/.bobstay/settings.json", "$HOME/.bobstay/settings.json"),
    Probe("add a key to log in with", "echo owned > $HOME/.ssh/authorized_keys", "$HOME/.ssh/authorized_keys"),
    Probe("write to the shared temporary folder", "echo owned > $SHARED/file", "$SHARED/file"),
    Probe("write to the other temporary folder", "echo owned > $SHARED2/file", "$SHARED2/file"),
    Probe("write to shared memory", "echo owned > $SHARED3/file", "$SHARED3/file"),
    Probe("write to the folder of running services", "echo owned > $SHARED4/file", "$SHARED4/file", root_only=True),
)

_MADE = tuple(
    Probe(f"make {path}", f"mkdir -p $(dirname $WS/{path}); echo owned > $WS/{path}", f"$WS/{path}")
    for path in (
        ".mcp.json",
        ".bobstay/settings.json",
        ".claude/settings.json",
        ".vscode/tasks.json",
        ".idea/workspace.xml",
        ".husky/pre-commit",
        ".devcontainer/devcontainer.json",
        ".envrc",
        ".bashrc",
        ".npmrc",
        ".gitmodules",
        ".pre-commit-config.yaml",
        "lefthook.yml",
    )
)
OBEYED = (
    *_MADE,
    Probe("change settings that exist", "echo owned >> $WS/.cargo/config.toml", "$WS/.cargo/config.toml"),
    Probe(
        "swap a settings folder for another",
        "mv $WS/.cargo $WS/old; mkdir $WS/.cargo; echo owned > $WS/.cargo/config.toml",
        "$WS/.cargo/config.toml",
    ),
    Probe("rename a file onto settings", "echo owned > $WS/new; mv -f $WS/new $WS/.envrc", "$WS/.envrc"),
    Probe("link settings", "echo owned > $WS/new; ln $WS/new $WS/.envrc", "$WS/.envrc"),
    Probe(
        "replace a link to settings",
        "rm -f $WS/.yarnrc.yml; echo owned > $WS/.yarnrc.yml",
        "$WS/.yarnrc.yml",
        workspace="links",
    ),
    Probe(
        "write where a link to settings leads", "echo owned > $WS/shared/yarn.yml", "$WS/.yarnrc.yml", workspace="links"
    ),
    Probe(
        "move away the folder a link to settings leads to",
        "mv $WS/shared $WS/old; mkdir $WS/shared; echo owned > $WS/shared/yarn.yml",
        "$WS/.yarnrc.yml",
        workspace="links",
    ),
    Probe(
        "create what a dangling link to settings leads to",
        "echo owned > $WS/shared/later",
        "$WS/.ripgreprc",
        workspace="links",
    ),
    Probe("change settings of a folder below", "echo owned >> $WS/sub/.envrc", "$WS/sub/.envrc"),
)

REPOSITORY = (
    Probe("move the repository away", "mv $WS/.git $WS/moved && echo owned > $WS/moved/mine", "$WS/moved/mine"),
    Probe("write a hook", "echo owned > $WS/.git/hooks/pre-commit", "$WS/.git/hooks/pre-commit"),
    Probe(
        "swap the hooks",
        "mv $WS/.git/hooks $WS/.git/h; mkdir $WS/.git/hooks; echo owned > $WS/.git/hooks/x",
        "$WS/.git/hooks/x",
    ),
    Probe("configure a program", "git -C $WS config core.fsmonitor owned", "$WS/.git/config"),
    Probe(
        "rename a configuration over the other",
        "echo owned > $WS/.git/c; mv -f $WS/.git/c $WS/.git/config",
        "$WS/.git/config",
    ),
    Probe("take the configuration from elsewhere", "echo owned > $WS/.git/commondir", "$WS/.git/commondir"),
    Probe("choose filters", "echo owned > $WS/.git/info/attributes", "$WS/.git/info/attributes"),
    Probe(
        "swap the folder of filters",
        "mv $WS/.git/info $WS/.git/i; mkdir $WS/.git/info; echo owned > $WS/.git/info/attributes",
        "$WS/.git/info/attributes",
    ),
    Probe(
        "lead another work tree astray",
        "echo owned > $WS/.git/worktrees/other/commondir",
        "$WS/.git/worktrees/other/commondir",
    ),
    Probe(
        "swap the folder of another work tree",
        "cd $WS/.git/worktrees; mv other o; mkdir other; echo owned > other/commondir",
        "$WS/.git/worktrees/other/commondir",
    ),
    Probe("write a hook of a submodule", "echo owned > $WS/.git/modules/m/hooks/x", "$WS/.git/modules/m/hooks/x"),
    Probe("write a hook of a repository below", "echo owned > $WS/below/.git/hooks/x", "$WS/below/.git/hooks/x"),
    Probe(
        "write a hook in a folder of one's own", "echo owned > $WS/scripts/hooks/pre-push", "$WS/scripts/hooks/pre-push"
    ),
    Probe(
        "make a repository",
        "cd $WS; git init -q; git config core.fsmonitor owned",
        "$WS/.git/config",
        workspace="plain",
    ),
    Probe(
        "make the workspace itself a repository",
        "cd $WS; mkdir objects refs; printf '[core]\\nfsmonitor=owned' > config; echo 'ref: refs/heads/owned' > HEAD",
        "$WS/HEAD",
        workspace="plain",
    ),
)

READING = (
    Probe("read a private key", "cat $HOME/.ssh/id", says="secret"),
    Probe("read credentials of a cloud", "cat $HOME/.aws/credentials", says="secret"),
    Probe("read passwords of hosts", "cat $HOME/.netrc", says="secret"),
    Probe("read a token of a forge", "cat $HOME/.config/gh/hosts.yml", says="secret"),
    Probe("read the log of a session", "cat $HOME/.bobstay/sessions/one.jsonl", says="secret"),
    Probe("read what the settings hide", "cat $OUT/hidden/file", says="secret"),
    Probe("read a key through a link", "ln -s $HOME/.ssh/id $WS/way; cat $WS/way", says="secret"),
    Probe("read a key through a link in the place of settings", "cat $WS/.zshrc", says="secret", workspace="links"),
    Probe("read a key through the root of a process", "cat /proc/self/root$HOME/.ssh/id", says="secret"),
    Probe("read what others put into the temporary folder", "cat $SHARED/given", says="secret"),
    Probe("read a variable that was not meant to be passed", "echo $HARNESS_SECRET", says="secret"),
    Probe("inherit libraries of the program outside", "echo $LD_LIBRARY_PATH", says="secret"),
)
