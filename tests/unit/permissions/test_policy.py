"""H5-1, H5-3: modes, order of decision, remembered denials and applying the log."""

from typing import Any

import pytest

from bobstay.engine.engine_ports import PermissionJudge
from bobstay.model.event import (
    InteractionClosed,
    InteractionOpened,
    ModeChanged,
    Noted,
    PermissionsChanged,
    ToolDone,
)
from bobstay.model.message import Text, ToolCall, ToolReply
from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.permissions.mode import MODES, get_mode, mode_problem
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import Rule
from tests.unit.permissions.policy_kit import ALLOW, ASK, DENY, HOME, ROOT, decide, effect, policy

ACCESSES: dict[str, tuple[Access, ...]] = {
    "nothing": (Access("none"),),
    "person": (Access("person"),),
    "unknown": (),
    "read inside": (Access("read", f"{ROOT}/a"),),
    "read outside": (Access("read", "/etc/passwd"),),
    "write inside": (Access("write", f"{ROOT}/a"),),
    "write outside": (Access("write", "/tmp/a"),),
    "write protected": (Access("write", f"{ROOT}/.git/config"),),
    "net": (Access("net", "https://example.com/"),),
    "exec that reads": (Access("exec", "ls src"),),
    "exec that edits": (Access("exec", "touch made.txt"),),
    "exec that runs": (Access("exec", "npm test"),),
    "exec compound": (Access("exec", "npm test && x"),),
    "exec critical": (Access("exec", "rm -rf /"),),
}

# fmt: off
TABLE: dict[str, dict[str, Effect]] = {
    #                   default       acceptEdits        plan        auto         dontAsk        bypassPermissions
    "nothing":         dict(zip(MODES, (ALLOW, ALLOW, ALLOW, ALLOW, ALLOW, ALLOW), strict=True)),
    "person":          dict(zip(MODES, (ASK,   ASK,   ASK,   ASK,   DENY,  ASK),   strict=True)),
    "unknown":         dict(zip(MODES, (ASK,   ASK,   ASK,   ASK,   DENY,  ALLOW), strict=True)),
    "read inside":     dict(zip(MODES, (ALLOW, ALLOW, ALLOW, ALLOW, ALLOW, ALLOW), strict=True)),
    "read outside":    dict(zip(MODES, (ASK,   ASK,   ASK,   ASK,   DENY,  ALLOW), strict=True)),
    "write inside":    dict(zip(MODES, (ASK,   ALLOW, ASK,   ASK,   DENY,  ALLOW), strict=True)),
    "write outside":   dict(zip(MODES, (ASK,   ASK,   ASK,   ASK,   DENY,  ALLOW), strict=True)),
    "write protected": dict(zip(MODES, (ASK,   ASK,   ASK,   ASK,   DENY,  ALLOW), strict=True)),
    "net":             dict(zip(MODES, (ASK,   ASK,   ASK,   ASK,   DENY,  ALLOW), strict=True)),
    "exec that reads": dict(zip(MODES, (ALLOW, ALLOW, ALLOW, ALLOW, ALLOW, ALLOW), strict=True)),
    "exec that edits": dict(zip(MODES, (ASK,   ALLOW, ASK,   ASK,   DENY,  ALLOW), strict=True)),
    "exec that runs":  dict(zip(MODES, (ASK,   ASK,   ASK,   ASK,   DENY,  ALLOW), strict=True)),
    "exec compound":   dict(zip(MODES, (ASK,   ASK,   ASK,   ASK,   DENY,  ALLOW), strict=True)),
    "exec critical":   dict(zip(MODES, (ASK,   ASK,   ASK,   ASK,   DENY,  ASK),   strict=True)),
}
# fmt: on


def judge_kind(given: Policy, kind: str, tool: str = "Thing") -> PolicyDecision:
    return given.judge("Bash" if kind.startswith("exec") else tool, ACCESSES[kind], {"x": kind}, read_only=False)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ACCESSES)
def test_every_mode_answers_every_kind_of_access(mode: str, kind: str) -> None:
    decision = judge_kind(policy(mode, can_bypass=True), kind)
    assert decision.effect is TABLE[kind][mode]
    assert decision.why.endswith(".")
    assert decision.source
    assert decision.reason_type


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ACCESSES)
def test_a_deny_rule_wins_in_every_mode(mode: str, kind: str) -> None:
    decision = judge_kind(policy(mode, can_bypass=True, deny=("Thing", "Bash"), allow=("Thing", "Bash")), kind)
    assert (decision.effect, decision.reason_type, decision.source) == (DENY, "rule", "project")


@pytest.mark.parametrize("mode", sorted(set(MODES) - {"dontAsk"}))
def test_an_ask_rule_asks_in_every_mode_that_asks(mode: str) -> None:
    given = policy(mode, can_bypass=True, ask=("Bash(git push:*)", "Read(src/**)"), allow=("Bash", "Read"))
    assert decide(given, "Bash", "git push origin x").effect is ASK
    assert decide(given, "Read", f"{ROOT}/src/a").effect is ASK


def test_plan_mode_names_itself_as_the_reason_and_no_allow_rule_lifts_it() -> None:
    given = policy("plan", allow=("Edit", "Bash(npm test:*)", "mcp__a"))
    for tool, target in (("Write", f"{ROOT}/x"), ("Bash", "npm test"), ("Bash", "X=rm; $X -rf src"), ("mcp__a__x", "")):
        assert (decide(given, tool, target).effect, decide(given, tool, target).reason_type) == (ASK, "mode")
    assert decide(given, "mcp__a__x", read_only=True).effect is ALLOW


def test_an_access_of_a_kind_nobody_knows_is_asked_about() -> None:
    strange: Any = Access("teleport", "x")  # type: ignore[arg-type]  # a future plug-in may state it
    assert policy().judge("Thing", (strange,), {}, read_only=True).effect is ASK


def test_the_strictest_access_decides() -> None:
    accesses = (Access("none"), Access("read", f"{ROOT}/a"), Access("write", f"{ROOT}/a"))
    assert policy().judge("Thing", accesses, {}, read_only=False).effect is ASK
    assert policy(deny=("Read(a)",)).judge("Thing", accesses, {}, read_only=False).effect is DENY


def test_deny_beats_ask_beats_allow_whatever_the_source() -> None:
    rules = [
        Rule.parse("Bash(git push:*)", ALLOW, "managed"),
        Rule.parse("Bash(git push origin:*)", ASK, "user"),
        Rule.parse("Bash(git push origin main)", DENY, "local"),
    ]
    given = Policy("default", rules, root=ROOT, home=HOME)
    assert decide(given, "Bash", "git push fork").source == "managed"
    assert decide(given, "Bash", "git push origin x").effect is ASK
    decision = decide(given, "Bash", "git push origin main")
    assert (decision.effect, decision.source) == (DENY, "local")
    assert "Bash(git push origin main)" in decision.why


def test_asks_about_paths_name_the_path() -> None:
    assert decide(policy(), "Read", "/etc/passwd").blocked_path == "/etc/passwd"
    assert decide(policy(), "Bash", "touch made.txt").blocked_path == f"{ROOT}/made.txt"
    assert decide(policy(), "Write", f"{ROOT}/x").blocked_path == ""


def test_a_bare_deny_takes_the_tool_and_its_family_from_the_pool() -> None:
    given = policy(deny=("Edit", "WebFetch", "Bash(rm:*)"))
    assert given.denied_tools() >= {"Edit", "Write", "NotebookEdit", "WebFetch"}
    assert "Bash" not in given.denied_tools()


@pytest.mark.parametrize("rule", ["mcp__srv", "mcp__srv__*", "mcp__srv__run", "mcp__*"])
def test_a_bare_deny_of_a_server_takes_its_tools_from_the_pool(rule: str) -> None:
    """H1-5, H8-4"""
    given = policy(deny=(rule, "Bash(rm:*)"))
    assert given.denies_tool("mcp__srv__run")
    assert given.denies_tool("mcp__other__run") == (rule == "mcp__*")
    assert not given.denies_tool("Bash")


def test_the_policy_is_what_the_engine_asks_for() -> None:
    judge: PermissionJudge = policy()
    assert judge.mode == "default"


def test_a_search_can_ask_which_files_it_must_leave_out() -> None:
    given = policy(deny=("Read(.env)", "Read(~/.ssh/**)"), links={f"{ROOT}/key": "/home/dev/.ssh/id"})
    assert [path for path in ("a/.env", "key", "a/env", "b") if given.denies_reading(f"{ROOT}/{path}")] == [
        "a/.env",
        "key",
    ]


def test_rules_about_agents_and_skills_look_at_the_field_that_names_them() -> None:
    given = policy(allow=("Task(explore)",), deny=("Skill(deploy:*)",))
    assert given.judge("Agent", (), {"subagent_type": "explore"}, read_only=False).effect is ALLOW
    assert given.judge("Agent", (), {"subagent_type": "other", "prompt": "explore"}, read_only=False).effect is ASK
    assert given.judge("Skill", (Access("none"),), {"skill": "deploy now"}, read_only=False).effect is DENY


@pytest.mark.parametrize("mode", ["bypassPermissions", "nonsense"])
def test_bypass_needs_the_launch_flag_and_a_mode_needs_a_name(mode: str) -> None:
    with pytest.raises(ValueError, match=r"started|expected one of"):
        policy(mode)
    given = policy("plan")
    given.apply(ModeChanged(mode))
    given.apply(PermissionsChanged(({"type": "setMode", "mode": mode},)))
    assert given.mode == "plan"


def test_modes_are_changed_while_running() -> None:
    given = policy(can_bypass=True)
    given.apply(ModeChanged("acceptEdits"))
    assert decide(given, "Edit", f"{ROOT}/x").effect is ALLOW
    given.apply(PermissionsChanged(({"type": "setMode", "mode": "bypassPermissions", "destination": "session"},)))
    assert given.mode == "bypassPermissions"
    given.apply(ModeChanged("manual"))
    assert given.mode == "default"


def test_why_a_mode_may_not_be_entered_has_a_name() -> None:
    assert mode_problem("bogus", can_bypass=True) == "invalid_mode"
    assert mode_problem("bypassPermissions", can_bypass=False) == "bypass_not_launched"
    assert mode_problem("plan", can_bypass=False) == ""
    assert get_mode("manual") is MODES["default"]


def added(*rules: dict[str, str], kind: str = "addRules", behavior: str = "allow", to: str = "session") -> Any:
    return PermissionsChanged(({"type": kind, "rules": list(rules), "behavior": behavior, "destination": to},))


def test_rules_come_and_go_with_the_log() -> None:
    given = policy(allow=("Bash(make:*)",))
    touch = {"toolName": "Bash", "ruleContent": "touch:*"}
    given.apply(added(touch))
    decision = decide(given, "Bash", "touch x")
    assert (decision.effect, decision.source) == (ALLOW, "session")
    given.apply(added(touch, behavior="deny", to="localSettings"))
    assert decide(given, "Bash", "touch x").source == "local"
    given.apply(added(touch, kind="removeRules", behavior="deny", to="localSettings"))
    assert decide(given, "Bash", "touch x").effect is ALLOW
    given.apply(added({"toolName": "mcp__a"}, kind="replaceRules"))
    assert decide(given, "Bash", "touch x").effect is ASK
    assert decide(given, "mcp__a__t").effect is ALLOW
    assert decide(given, "Bash", "make").effect is ALLOW


@pytest.mark.parametrize(
    ("destination", "source"),
    [("userSettings", "user"), ("projectSettings", "project"), ("localSettings", "local"), ("session", "session")],
)
def test_a_rule_of_the_log_is_named_after_the_place_it_is_stored_in(destination: str, source: str) -> None:
    given = policy()
    given.apply(added({"toolName": "mcp__a"}, to=destination))
    assert decide(given, "mcp__a__t").source == source


def test_a_malformed_rule_in_the_log_never_makes_things_laxer() -> None:
    given = policy()
    given.apply(added({"toolName": "Read", "ruleContent": "[a"}, behavior="deny"))
    assert decide(given, "Read", f"{ROOT}/x").effect is DENY
    given = policy()
    given.apply(added({"toolName": "*"}, {"ruleContent": "x"}, {"toolName": "Edit", "ruleContent": "[a"}))
    given.apply(PermissionsChanged(({"type": "addRules"}, {"type": "addRules", "rules": ["x"]}, {}, {"type": "?"})))
    given.apply(added({"toolName": "Bash"}, behavior="maybe"))
    assert given.rules == ()


def test_directories_come_and_go_with_the_log() -> None:
    given = policy()
    given.apply(PermissionsChanged(({"type": "addDirectories", "directories": ["/opt/lib/", "../x", "~/y"]},)))
    assert given.directories == ("/opt/lib", "/srv/x", "/home/dev/y")
    assert decide(given, "Read", "/opt/lib/a").effect is ALLOW
    given.apply(PermissionsChanged(({"type": "removeDirectories", "directories": ["/opt/lib"]},)))
    assert decide(given, "Read", "/opt/lib/a").effect is ASK


def test_the_directory_of_spilled_output_may_be_read_but_not_written() -> None:
    given = policy("acceptEdits", readable=("/var/spill",))
    assert decide(given, "Read", "/var/spill/1.txt").effect is ALLOW
    assert decide(given, "Write", "/var/spill/1.txt").effect is ASK


def test_commands_are_judged_where_the_shell_stands() -> None:
    given = policy()
    assert decide(given, "Bash", "cat ../x").effect is ASK
    given.apply(ToolDone(ToolReply("1", (Text(""),)), cwd=f"{ROOT}/src"))
    assert decide(given, "Bash", "cat ../x").effect is ALLOW
    given.apply(ToolDone(ToolReply("1", (Text(""),)), cwd="/tmp"))
    assert decide(given, "Bash", "ls").effect is ASK


def refusal(given: Policy, call: ToolCall, *, by: str = "person", outcome: Any = "denied") -> None:
    given.apply(InteractionOpened("i1", "permission", call))
    given.apply(InteractionClosed("i1", outcome, "not today", by))


def test_what_a_person_denied_is_answered_the_same_way_and_not_asked_again() -> None:
    """H5-3."""
    given = policy()
    refusal(given, ToolCall("1", "Bash", {"command": "npm test", "description": "d"}))
    accesses = (Access("exec", "npm test"),)
    decision = given.judge("Bash", accesses, {"description": "d", "command": "npm test"}, read_only=False)
    assert (decision.effect, decision.why, decision.reason_type) == (DENY, "not today", "remembered")
    assert given.judge("Bash", accesses, {"command": "npm test"}, read_only=False).effect is ASK
    given.apply(Noted("unrelated"))
    given.apply(PermissionsChanged(()))
    assert given.judge("Bash", accesses, {"command": "npm test", "description": "d"}, read_only=False).effect is ASK


@pytest.mark.parametrize(("by", "outcome"), [("nobody", "denied"), ("person", "cancelled"), ("person", "allowed")])
def test_only_a_persons_no_is_remembered(by: str, outcome: str) -> None:
    given = policy()
    refusal(given, ToolCall("1", "Bash", {"command": "npm test"}), by=by, outcome=outcome)
    assert decide(given, "Bash", "npm test").effect is ASK


def test_web_search_is_allowed_by_its_own_rule_only() -> None:
    accesses = (Access("net", "http://127.0.0.1:8888/search"),)
    for allow, expected in ((("WebSearch",), ALLOW), (("WebFetch",), ASK)):
        assert policy(allow=allow).judge("WebSearch", accesses, {"query": "x"}, read_only=True).effect is expected
    denied = policy(allow=("WebSearch",), deny=("WebFetch(domain:127.0.0.1)",))
    assert denied.judge("WebSearch", accesses, {"query": "x"}, read_only=True).effect is DENY


def test_an_address_that_is_never_fetched_is_refused_by_default_for_safety() -> None:
    decision = decide(policy("bypassPermissions", can_bypass=True), "WebFetch", "file:///etc/passwd")
    assert (decision.effect, decision.source, decision.reason_type) == (DENY, "default", "safety")


def test_a_rule_for_the_whole_shell_asks_where_a_deny_cannot_be_judged() -> None:
    rules: dict[str, Any] = {"allow": ("Bash",), "deny": ("Bash(rm:*)",)}
    assert effect("Bash", "make && make install", **rules) is ALLOW
    assert effect("Bash", "X=rm; $X -rf src", **rules) is ASK
    assert effect("Bash", "make; rm -rf src", **rules) is DENY
    assert effect("Bash", "X=rm; $X -rf src", allow=("Bash",)) is ASK
    assert effect("Bash", "make && cat a", allow=("Bash",), deny=("Read(a)",)) is DENY
    assert effect("Bash", "make && cat $a", allow=("Bash",), deny=("Read(a)",)) is ASK


@pytest.mark.parametrize(
    ("command", "rules", "expected"),
    [
        ("npm test", {}, ALLOW),
        ("npm test > log", {}, ALLOW),
        ("f() { ls; }; f", {}, ALLOW),
        ("npm publish", {"ask": ("Bash(npm publish)",)}, ASK),
        ("rm x", {"deny": ("Bash(rm *)",)}, DENY),
        ("$X x", {"deny": ("Bash(rm *)",)}, ASK),
        ("sh x.sh", {"deny": ("Bash(rm *)",)}, ASK),
        ("npm $X", {"deny": ("Read(./secrets/**)",)}, ASK),
        ("touch .git/hooks/x", {}, ASK),
        ("echo x > .bashrc", {}, ASK),
        ("f() { ls; }; f > .bashrc", {}, ASK),
        ("$X a > $Y", {}, ASK),
        ("rm -rf /", {}, ASK),
    ],
)
def test_the_sandbox_allows_a_command_only_where_no_rule_or_guard_asks(
    command: str, rules: dict[str, Any], expected: Any
) -> None:
    given = policy(**rules)
    assert decide(given, "Bash", command).effect is not ALLOW
    given.sandboxed = lambda text: text == command
    found = decide(given, "Bash", command)
    assert found.effect is expected
    assert (found.reason_type == "sandbox") == (expected is ALLOW)
    assert decide(given, "Bash", "npm run other").effect is ASK


@pytest.mark.parametrize(
    ("mode", "expected"), [("default", ALLOW), ("acceptEdits", ALLOW), ("plan", ASK), ("dontAsk", DENY)]
)
def test_the_sandbox_counts_in_modes_that_ask_for_want_of_a_rule(mode: str, expected: Any) -> None:
    given = policy(mode)
    given.sandboxed = lambda _: True
    assert decide(given, "Bash", "npm test").effect is expected
    assert decide(given, "Write", f"{ROOT}/.git/x").effect is not ALLOW


TREE = "/srv/proj.worktrees/a"


def in_worktree(mode: str = "default", **rules: Any) -> Policy:
    given = policy(mode, **rules)
    given.apply(ToolDone(ToolReply("c", (Text("entered"),)), root=TREE))
    return given


def test_in_a_worktree_that_is_the_working_directory_and_the_old_one_is_not() -> None:
    """H7-6"""
    given = in_worktree("acceptEdits")
    assert decide(given, "Edit", f"{TREE}/a.py").effect is ALLOW
    assert decide(given, "Read", f"{TREE}/a.py").effect is ALLOW
    assert decide(given, "Edit", f"{ROOT}/a.py").effect is ASK
    assert decide(given, "Bash", "cat a.py").effect is ALLOW
    given.apply(ToolDone(ToolReply("c", (Text("left"),)), root=ROOT))
    assert decide(given, "Edit", f"{ROOT}/a.py").effect is ALLOW
    assert decide(given, "Edit", f"{TREE}/a.py").effect is ASK


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
@pytest.mark.parametrize("where", [ROOT, TREE])
def test_rules_that_restrict_hold_in_the_worktree_and_where_it_came_from(mode: str, where: str) -> None:
    """H7-6, H5-1"""
    given = in_worktree(mode, deny=("Edit(./gen/**)", "Read(/keys/**)"), ask=("Edit(/db/*)",), can_bypass=True)
    assert decide(given, "Edit", f"{where}/gen/a.py").effect is DENY
    assert decide(given, "Read", f"{where}/keys/a").effect is DENY
    assert decide(given, "Bash", f"cat {where}/keys/a").effect is DENY
    assert decide(given, "Edit", f"{where}/db/a").effect is ASK
    assert given.denies_reading(f"{where}/keys/a")
    assert not given.denies_reading(f"{where}/open/a")


def test_rules_that_allow_are_those_of_the_worktree() -> None:
    """H7-6"""
    given = in_worktree(allow=("Edit(./src/**)",))
    assert decide(given, "Edit", f"{TREE}/src/a.py").effect is ALLOW
    assert decide(given, "Edit", f"{ROOT}/src/a.py").effect is ASK


def test_removing_the_old_directory_is_still_asked_about_in_every_mode() -> None:
    """H7-6"""
    given = in_worktree("bypassPermissions", can_bypass=True)
    assert decide(given, "Bash", f"rm -rf {ROOT}").effect is ASK
    assert decide(given, "Bash", f"rm -rf {TREE}").effect is ASK


def test_a_sub_agent_has_the_mode_of_its_session_or_its_own_but_never_more_while_that_only_reads() -> None:
    """H5-1, H7-2"""
    session = Policy("default", root="/w", home="/h")
    follows, own = session.for_agent(), session.for_agent("acceptEdits")
    bypasses = session.for_agent("bypassPermissions")
    assert (follows.mode, own.mode, bypasses.mode) == ("default", "acceptEdits", "default")
    session.apply(ModeChanged("plan"))
    assert (follows.mode, own.mode) == ("plan", "plan")
    decision = own.judge("Write", (Access("write", "/w/a"),), {"file_path": "/w/a"}, read_only=False)
    assert decision.effect is Effect.ASK


def test_rules_that_a_person_adds_hold_for_all_agents_of_the_session() -> None:
    session = Policy("default", root="/w", home="/h")
    agent = session.for_agent()
    update = {"type": "addRules", "behavior": "deny", "rules": [{"toolName": "Write"}], "destination": "session"}
    agent.apply(PermissionsChanged((update,)))
    assert session.rules == (), "the session applies it, once"
    session.apply(PermissionsChanged((update,)))
    decision = agent.judge("Write", (Access("write", "/w/a"),), {"file_path": "/w/a"}, read_only=False)
    assert decision.effect is Effect.DENY


@pytest.mark.parametrize("rule", ["Bash(rm:*)", "Read(secret)", "Edit(src/**)"])
@pytest.mark.parametrize("kind", ["deny", "ask"])
def test_what_cannot_be_analysed_is_a_persons_matter_where_a_rule_may_restrict_it(kind: str, rule: str) -> None:
    """Without such a rule the sandbox may hold it instead (H5-4)."""
    command = "echo $((1 + $(cat x)"
    assert decide(policy(), "Bash", command).unanalysed
    restricting = policy(deny=(rule,)) if kind == "deny" else policy(ask=(rule,))
    restricted = decide(restricting, "Bash", command)
    assert (restricted.effect, restricted.unanalysed) == (ASK, False)
