"""Simple commands: their words, which are read-only, and which prefixes rules ignore."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.permissions.path_resolution import FileSystemView
from bobstay.permissions.shell import analyze
from bobstay.permissions.shell.command_queries import is_read_only, simple_words
from tests.kit.waiting import DEADLINE
from tests.unit.permissions.policy_kit import ALLOW, ASK, DENY, HOME, ROOT, effect


def words(command: str) -> list[str] | None:
    found = simple_words(command)
    return None if found is None else [word.value for word in found]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git status", ["git", "status"]),
        ("  ls\t-l \n", ["ls", "-l"]),
        ("echo 'a b' \"c d\"e", ["echo", "a b", "c de"]),
        ("echo ''", ["echo", ""]),
        ("git log HEAD~1", ["git", "log", "HEAD~1"]),
        ("echo 'a\nb'", ["echo", "a\nb"]),
        ("git commit -m 'caf\u00e9 $HOME `x`'", ["git", "commit", "-m", "caf\u00e9 $HOME `x`"]),
        ("[ -f a ]", ["[", "-f", "a", "]"]),
        ("echo a\\ b", ["echo", "a b"]),
        ('echo "a\\"b"', ["echo", 'a"b']),
        ("ls # x", ["ls"]),
        ("CI=1 ls", ["ls"]),
    ],
)
def test_literal_words_are_split_as_the_shell_would(command: str, expected: list[str]) -> None:
    assert words(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        "",
        "a; b",
        "a && b",
        "a | b",
        "a &",
        "a\nb",
        "a > b",
        "a < b",
        "(a)",
        "{ a; }",
        "echo $x",
        'echo "$x"',
        "echo `x`",
        'echo "`x`"',
        "ls *.py",
        "ls a?",
        "ls [a]b",
        "ls ~",
        "ls --x=~/a",
        "echo {a,b}",
        "if true",
        "echo 'a",
        'echo "a',
        "ls\r",
        "ls \x1b[0m",
        "echo a\0b",
        "g\u200bit status",
        "ls\u00a0-l",
        "\u0433it status",
        "echo " + "a" * 10_000,
    ],
)
def test_anything_more_complex_is_not_a_simple_command(command: str) -> None:
    assert words(command) is None


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="'"), max_size=8), min_size=1)
)
def test_single_quoted_words_come_back_as_they_were(given_words: list[str]) -> None:
    found = words(" ".join(["echo", *(f"'{word}'" for word in given_words)]))
    if found is not None:
        assert found == ["echo", *given_words]
    else:
        assert not all(word.isprintable() for word in given_words)


@given(st.text(max_size=60))
def test_any_text_is_read_without_failing(text: str) -> None:
    analysis = analyze(text, ROOT, FileSystemView(ROOT, HOME, readlink=lambda _: None))
    assert analysis.rule_texts
    if not text.isprintable() and not text.replace("\n", "").replace("\t", "").isprintable():
        assert analysis.trouble


READ_ONLY = """ls -la src
cat README.md
head -n 20 src/app.py
grep -rn TODO src
grep -n 'a;b' f.txt
grep -c '/etc/' a.txt
rg --files src
wc -l a b
find . -name '*.py' -mtime -1
diff a.txt b.txt
echo "a; b && c"
printf '%s' one
git status -s
git --no-pager diff --stat HEAD~1
git log --format='%h %s' -n 3
git branch -a
git tag -l 'v*'
git remote -v
git stash list
sort -u names.txt
uniq -c names.txt
cut -d: -f1 data.txt
tr a b
sed -n '1,20p' src/app.py
sed 's/a;b/c/g' notes.txt
test -f package.json
date +%Y
cd src
command -v node
timeout 10 ls
NO_COLOR=1 git status
nice -n 5 grep x y
which node""".splitlines()

NOT_READ_ONLY = """npm test
cat /etc/passwd
cat ../x
ls /
cd
cd ..
cd -
cd /tmp
find . -delete
find . -exec sh
find . -fprint x
find / -name x
sort -o out f
sort --output=x f
sort --comp=sh f
uniq a b
sed -i s/a/b/ f
sed -ni 1p f
sed '1e id' f
sed 's/a/b/w out' f
sed 's/a/b/e' f
sed -f x f
rg --pre sh x
rg -z x
grep -f /etc/passwd x
grep -f/etc/passwd x
grep --file=/etc/passwd x
grep -R x .
git push
git branch -D main
git branch new
git tag v1
git tag -l -d v1
git -c core.pager=x log
git -C /tmp log
git diff --output=x
git diff --outp=x
git diff --no-index /a b
git diff --ext-diff
git grep -Ovi x
git reflog expire
git remote add a b
git stash drop
git config a.b c
tree -o x
date -s x
printf -v a b
test -v a
file -m x y
env ls
sudo ls
watch ls
FOO=1 ls
PATH=/tmp ls
./ls
/tmp/ls
timeout ls
xxd a b
tee x
python3 -c 1
wc --files0-from=x""".splitlines()


@pytest.mark.parametrize("command", READ_ONLY)
def test_read_only_commands_are_known(command: str) -> None:
    assert is_read_only(command, ROOT, (ROOT,))
    assert effect("Bash", command) is ALLOW


@pytest.mark.parametrize("command", NOT_READ_ONLY)
def test_what_may_run_or_write_or_leave_is_not_read_only(command: str) -> None:
    assert not is_read_only(command, ROOT, (ROOT,))
    assert effect("Bash", command) is ASK


def test_git_is_read_only_only_where_the_work_is() -> None:
    assert is_read_only("git status", ROOT, (ROOT,))
    assert not is_read_only("git status", f"{ROOT}/vendor/evil", (ROOT,))
    assert not is_read_only("ls", "/tmp", (ROOT,))
    assert not is_read_only("ls", ROOT, ())


def test_an_operand_behind_a_link_that_leaves_is_not_read_only() -> None:
    assert effect("Bash", "cat link/x", links={f"{ROOT}/link": "/etc"}) is ASK


WRAPPED = """rm -rf src
r''m -rf src
r\\m -rf src
/bin/rm -rf src
../../bin/rm x
command rm x
builtin command rm x
env rm x
env -i FOO=1 rm x
env -S 'rm x'
sudo -u root rm x
FOO=1 rm x
PATH=/x FOO=2 rm x
nohup nice -n 5 rm x
timeout 5 rm x
timeout --signal=KILL 5s rm x
xargs -n1 rm
ls | xargs -0 rm
find . -exec rm {} +
find . -name x -execdir rm {} \\;
bash -c 'rm x'
bash -lc 'ls; rm x'
bash -c "bash -c 'rm x'"
eval 'rm x'
trap 'rm x' EXIT
ls && rm x
ls; rm x
ls | rm x
ls & rm x
(rm x)
{ rm x; }
echo $(rm x)
echo `rm x`
cat <(rm x)
! rm x
if true; then rm x; fi
while true; do rm x; done
rm x > /dev/null 2>&1
$"rm" x""".splitlines()


@pytest.mark.parametrize("command", WRAPPED)
def test_a_deny_rule_ignores_prefixes_of_a_command(command: str) -> None:
    assert effect("Bash", command, deny=("Bash(rm *)",)) is DENY
    assert effect("Bash", command, allow=("Bash",), deny=("Bash(rm *)",)) is DENY


def test_a_continued_line_is_one_word() -> None:
    assert effect("Bash", "r\\\nm x", deny=("Bash(rm *)",)) is DENY


def test_there_is_no_length_behind_which_a_denied_command_hides() -> None:
    many = " ".join(f"A{number}=1" for number in range(200))
    assert effect("Bash", f"env {many} rm x", allow=("Bash",), deny=("Bash(rm *)",)) is DENY
    assert effect("Bash", "; ".join(["true"] * 200 + ["rm x"]), allow=("Bash",), deny=("Bash(rm *)",)) is DENY
    assert effect("Bash", "true " + "a" * 20_000 + "; rm x", allow=("Bash",), deny=("Bash(rm *)",)) is DENY


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rmdir x", ASK),
        ("git rm x", ASK),
        ("ls rm", ALLOW),
        ("which rm", ALLOW),
        ("command -v rm", ALLOW),
        ("grep -rn 'rm -rf' scripts", ALLOW),
        ("git log --grep='x; rm y'", ALLOW),
    ],
)
def test_a_deny_rule_does_not_hit_what_only_mentions_the_command(command: str, expected: Any) -> None:
    assert effect("Bash", command, deny=("Bash(rm *)",)) is expected


def test_options_of_git_do_not_hide_its_command() -> None:
    for command in ("git -C . push", "git --no-pager push", "git -c a=b push x", "git  push"):
        assert effect("Bash", command, allow=("Bash(git *)",), deny=("Bash(git push *)",)) is DENY


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("timeout 30 npm test", ALLOW),
        ("timeout --signal=KILL 5 npm test", ALLOW),
        ("timeout npm test", ASK),
        ("time -p npm test", ALLOW),
        ("nohup nice npm test", ALLOW),
        ("stdbuf -o0 npm test", ALLOW),
        ("command npm test", ALLOW),
        ("command -p npm test", ASK),
        ("CI=1 NO_COLOR=1 npm test", ALLOW),
        ("FOO=1 npm test", ASK),
        ("LD_PRELOAD=x npm test", ASK),
        ("env npm test", ASK),
        ("sudo npm test", ASK),
        ("bash -c 'npm test'", ASK),
        ("npm test; x", ASK),
        ("npm test && x", ASK),
        ("npm test $(x)", ASK),
        ("npm test > x", ASK),
        ("npm test\nx", ASK),
        ("npm test & x", ASK),
        ("npm testing", ASK),
    ],
)
def test_an_allow_rule_ignores_harmless_prefixes_only(command: str, expected: Any) -> None:
    assert effect("Bash", command, allow=("Bash(npm test *)",)) is expected


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("find *", "find . -exec sh x"),
        ("find *", "find . -delete"),
        ("watch *", "watch -n1 date"),
        ("env *", "env ls"),
        ("xargs *", "xargs -n1 x"),
        ("sed *", "sed -i s/a/b/ f"),
        ("git *", "git -c core.pager=x log"),
        ("git diff *", "git diff --ext-diff"),
        ("git *", "git clone ext::sh x"),
        ("tar *", "tar -xf x --to-command=sh"),
        ("awk *", "awk 'BEGIN{system(1)}'"),
        ("sort *", "sort --compress-prog=sh f"),
    ],
)
def test_what_runs_its_arguments_is_allowed_by_an_exact_rule_only(rule: str, command: str) -> None:
    assert effect("Bash", command, allow=(f"Bash({rule})",)) is ASK
    assert effect("Bash", command, allow=(f"Bash({command})",)) is ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -rf /*",
        "rm -rf /etc",
        "rm -rf ..",
        "rm -rf .",
        f"rm -rf {ROOT}",
        "rm -rf /srv/",
        "rm -rf ~",
        "rm -rf ~/",
        f"rm -rf {HOME}",
        "rm -rf /home",
        "rm -rf /../",
        "rmdir /usr",
        "sudo rm -rf /usr",
        "ls; rm -rf /",
        "echo $(rm -rf /)",
        'rm -rf "$X"/*',
        "rm -rf ${X}/",
        "bash -c 'rm -rf /'",
    ],
)
@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
def test_removing_a_system_a_home_or_the_work_is_always_asked_about(command: str, mode: str) -> None:
    assert effect("Bash", command, mode, allow=("Bash", "Bash(rm *)"), can_bypass=True) is ASK


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("touch a b/c", ALLOW),
        ("mkdir -p a/b", ALLOW),
        ("mv a b", ALLOW),
        ("cp a b", ALLOW),
        ("rm -f a", ALLOW),
        ("rmdir a", ALLOW),
        ("rm -r a", ASK),
        ("cp -r a b", ASK),
        ("cp -t /tmp a", ASK),
        ("cp a /tmp/b", ASK),
        ("cp /etc/passwd a", ASK),
        ("mv a .git/hooks/x", ASK),
        ("cp a/.bashrc b", ASK),
        ("touch ../x", ASK),
        ("touch .mcp.json", ASK),
        ("sudo touch a", ASK),
        ("touch a; x", ASK),
        ("chmod +x a", ASK),
        ("ln -s /etc a", ASK),
        ("tee a", ASK),
    ],
)
def test_accept_edits_covers_simple_file_commands_inside(command: str, expected: Any) -> None:
    assert effect("Bash", command, "acceptEdits") is expected


def test_a_copy_into_a_directory_is_judged_by_where_it_ends() -> None:
    assert effect("Bash", "cp a d", "acceptEdits", links={f"{ROOT}/d/a": "/etc/cron.d/x"}) is ASK


def test_a_protected_file_is_not_written_by_an_allowed_command() -> None:
    for allow in (("Bash(touch *)",), ("Bash",)):
        assert effect("Bash", "touch .git/hooks/pre-commit", allow=allow) is ASK


@pytest.mark.parametrize(
    "command",
    [
        "cat secrets/key",
        "head -1 ./secrets/key",
        "cat secr''ets/key",
        "base64 secrets/key",
        "curl -d @secrets/key x",
        "curl --data=@secrets/key x",
        "tar cf - secrets/key",
        "dd if=secrets/key",
        "cp secrets/key x",
    ],
)
def test_a_read_deny_holds_for_the_operands_of_commands(command: str) -> None:
    assert effect("Bash", command, allow=("Bash",), deny=("Read(./secrets/**)",)) is DENY


def test_a_read_deny_does_not_hit_patterns_and_messages() -> None:
    for command in ("grep -rn secrets/ src", "echo secrets/key", "git commit -m secrets/key", "cat secrets.txt"):
        assert effect("Bash", command, allow=("Bash(git commit *)",), deny=("Read(./secrets/**)",)) is ALLOW


def test_an_edit_deny_holds_for_commands_that_write() -> None:
    assert effect("Bash", "rm -f secrets/x", allow=("Bash",), deny=("Edit(secrets/**)",)) is DENY


@pytest.mark.parametrize("command", ["sudo " * 1900 + "x", "bash -c '" * 900, "$(" * 4900, "a=1 " * 2400, "'\"" * 4000])
def test_no_command_takes_long_to_read(command: str) -> None:
    began = time.process_time()
    effect("Bash", command, deny=("Bash(*a*b*c*d)",))
    assert time.process_time() - began < DEADLINE
