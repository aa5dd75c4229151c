"""Paths of credentials and histories that are hidden from sandboxed commands."""

import os

IN_HOME = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".oci",
    ".kube",
    ".docker",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".config/gcloud",
    ".config/op",
    ".config/rclone",
    ".config/doctl",
    ".config/hcloud",
    ".config/git/credentials",
    ".config/pip/pip.conf",
    ".config/containers/auth.json",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".mozilla",
    ".thunderbird",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/python_keyring",
    ".terraform.d",
    ".fly",
    ".vault-token",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".boto",
    ".s3cfg",
    ".gem/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".bobstay",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
)
AUTOLOADED_AT_HOME = (
    *(".ssh", ".config/git", ".config/fish", ".config/autostart", ".config/systemd", ".config/environment.d"),
    *(".config/direnv", ".config/nvim", ".vim", ".local/share/systemd", ".kde/Autostart"),
    *(".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".vimrc", ".tmux.conf", ".gdbinit"),
    *(
        ".pam_environment",
        ".xprofile",
        ".xsession",
        ".xsessionrc",
        ".xinitrc",
        ".bash_completion",
        ".curlrc",
        ".wgetrc",
    ),
)
"""Paths in a home directory, besides the protected names, that programs execute or load without asking."""
_SYSTEM_FILES = (
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/docker/key.json",
    "/etc/rancher",
    "/etc/kubernetes",
    "/var/lib/kubelet",
)
"""Readable by root only, so they are hidden only if the user is root."""
HOMES = "/home"
_MOST_HOMES = 50


def secret_paths(home: str, user: int) -> list[str]:
    """The real paths of all that exist. Root can read every home, so for root those of others are included."""
    homes = [home]
    wanted: list[str] = []
    if user == 0:
        wanted += _SYSTEM_FILES
        homes += ["/root", *homes_in(HOMES)]
    wanted += [f"{one}/{name}" for one in dict.fromkeys(homes) for name in IN_HOME]
    found = (os.path.realpath(path) for path in wanted if os.path.lexists(path))
    return list(dict.fromkeys(path for path in found if os.path.exists(path)))


def homes_in(parent: str) -> list[str]:
    try:
        return [f"{parent}/{name}" for name in sorted(os.listdir(parent))[:_MOST_HOMES]]
    except OSError:
        return []
