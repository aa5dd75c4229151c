"""H4-6: sources and precedence of settings, and errors about broken files."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.config.settings import Settings
from bobstay.config.settings_files import BrokenSettings, LoadedSettings, decode, load
from tests.kit.user_folders import UserFolders


class SettingsFolders(UserFolders):
    def load(self, **options: Any) -> LoadedSettings:
        return load(str(self.work), self.paths, **{"trust": True, **options})


@pytest.fixture
def user(tmp_path: Path) -> SettingsFolders:
    return SettingsFolders(tmp_path)


FILES = (
    "managed.json",
    "work/.bobstay/settings.local.json",
    "work/.claude/settings.local.json",
    "work/.bobstay/settings.json",
    "work/.claude/settings.json",
    "home/.bobstay/settings.json",
    "home/.claude/settings.json",
)


def test_nothing_at_all_gives_the_defaults(user: SettingsFolders) -> None:
    assert user.load() == LoadedSettings(Settings(), trusted=True)


def test_the_strongest_source_that_says_something_wins(user: SettingsFolders) -> None:
    for index in reversed(range(len(FILES))):
        user.write(FILES[index], {"model": f"m{index}"})
        assert user.load().settings.model == f"m{index}"
    assert user.load(settings='{"model": "cli"}').settings.model == "m0"
    user.managed.unlink()
    assert user.load(settings='{"model": "cli"}').settings.model == "cli"


def test_rules_of_all_sources_are_kept_with_where_they_stand(user: SettingsFolders) -> None:
    for file in FILES:
        user.write(file, {"permissions": {"deny": [f"Bash({file})"]}})
    loaded = user.load(settings='{"permissions": {"allow": ["Read"]}}')
    assert [(rule.behavior, rule.source) for rule in loaded.rules] == [
        ("deny", "managed"),
        ("allow", "cli"),
        ("deny", "local"),
        ("deny", "local"),
        ("deny", "project"),
        ("deny", "project"),
        ("deny", "user"),
        ("deny", "user"),
    ]
    assert loaded.rules[-1].file == str(user.home / ".claude/settings.json")


def test_maps_are_merged_and_hooks_added_up(user: SettingsFolders) -> None:
    project = {
        "env": {"A": "1"},
        "passVariables": ["GH_TOKEN"],
        "hooks": {"Stop": [1]},
        "sandbox": {"network": {"allowedDomains": ["a.org"]}},
    }
    user.write(FILES[3], project)
    own = {
        "env": {"A": "2", "B": 3, "C": True},
        "passVariables": ["NPM_TOKEN", "GH_TOKEN"],
        "hooks": {"Stop": [2], "Start": [3]},
        "sandbox": {"network": {"allowedDomains": ["b.org"]}, "enabled": True},
    }
    user.write(FILES[5], own)
    settings = user.load().settings
    assert settings.variables == {"A": "1", "B": "3", "C": "true"}
    assert settings.pass_variables == ("GH_TOKEN", "NPM_TOKEN")
    assert settings.hooks == {"Stop": [1, 2], "Start": [3]}
    assert settings.sandbox.network.allowed_domains == ("a.org", "b.org")
    assert settings.sandbox.enabled


def test_no_source_turns_off_a_sandbox_that_another_turned_on(user: SettingsFolders) -> None:
    """H5-8: the settings of a folder cannot widen what its commands may do."""
    user.write(FILES[5], {"sandbox": {"enabled": True, "failIfUnavailable": True}})
    user.write(FILES[3], {"sandbox": {"enabled": False, "failIfUnavailable": False}})
    settings = user.load().settings
    assert settings.sandbox.enabled
    assert settings.sandbox.fail_if_unavailable


def test_keys_of_other_programs_are_kept_and_tolerated(user: SettingsFolders) -> None:
    user.write(FILES[6], {"includeCoAuthoredBy": False, "statusLine": {"type": "command"}, "model": "x"})
    settings = user.load().settings
    assert settings.extra == {"includeCoAuthoredBy": False, "statusLine": {"type": "command"}}
    assert settings.model == "x"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a, b", ("a", "b")), (["a", "b"], ("a", "b")), ("", ())],
)
def test_fallback_models_may_be_a_list_or_text(user: SettingsFolders, value: Any, expected: tuple[str, ...]) -> None:
    user.write(FILES[5], {"fallbackModel": value})
    assert user.load().settings.fallbacks == expected


def test_only_the_wanted_sources_are_read(user: SettingsFolders) -> None:
    user.write("work/.bobstay/settings.local.json", {"model": "local"})
    user.write("work/.bobstay/settings.json", {"model": "project"})
    user.write("home/.bobstay/settings.json", {"model": "user"})
    assert user.load(setting_sources=("user",)).settings.model == "user"
    assert user.load(setting_sources=("project", "user")).settings.model == "project"
    assert user.load(setting_sources=(), settings='{"maxTurns": 3}').settings == Settings(max_turns=3)
    user.write("managed.json", {"model": "managed"})
    assert user.load(setting_sources=()).settings.model == "managed"


def test_the_command_line_names_a_file_or_holds_the_text(user: SettingsFolders) -> None:
    user.write("work/extra.json", {"model": "file"})
    assert user.load(settings="extra.json").settings.model == "file"
    with pytest.raises(BrokenSettings, match=r"nothere\.json: there is no such file"):
        user.load(settings="nothere.json")
    with pytest.raises(BrokenSettings, match="--settings:1:13: not valid JSON"):
        user.load(settings='{"model": 1,}')


@pytest.mark.parametrize(
    ("text", "place_of_it", "what"),
    [
        ('{\n  "model": "x",\n}', "3:1", "trailing comma"),
        ('{\n  "model": ', "2:12", "truncated"),
        ("{'a': 1}", "1:2", "not valid JSON"),
        ('{"é": nope}', "1:8", "not valid JSON"),
        ("[]", "1:1", "must hold a JSON object"),
        ('{\n "model": 7}', "2:11", "model: expected `str | null`, got `int`"),
        ('{"permissions": {\n  "allow": ["Read", 7]}}', "2:21", r"permissions.allow\[1\]: expected `str`"),
        ('{"permissions": {"defaultMode": "x"}}', "1:33", "permissions.defaultMode: invalid enum value"),
        ('{"env": {"A": []}}', "1:9", "env"),
    ],
)
def test_a_broken_file_is_named_with_line_column_and_what_was_expected(
    user: SettingsFolders, text: str, place_of_it: str, what: str
) -> None:
    path = user.write("home/.bobstay/settings.json", text)
    with pytest.raises(BrokenSettings, match=what) as caught:
        user.load()
    assert str(caught.value).startswith(f"{path}:{place_of_it}")


@pytest.mark.parametrize(
    "headers", [{"X-Name": "caf\u00e9"}, {"X-Name": "a\r\nX-Other: b"}, {"X Name": "a"}, {"": "a"}]
)
def test_a_header_that_cannot_be_sent_is_refused(headers: dict[str, str]) -> None:
    provider = {"api": "chat", "base_url": "http://x", "headers": headers}
    with pytest.raises(BrokenSettings, match="cannot be sent"):
        decode(json.dumps({"providers": {"corp": provider}}).encode(), "file")


def test_a_file_nested_beyond_reason_is_refused(user: SettingsFolders) -> None:
    user.write("home/.bobstay/settings.json", '{"x": ' + "[" * 50_000)
    with pytest.raises(BrokenSettings, match=r"settings\.json: not usable"):
        user.load()


def test_bytes_that_are_no_text_are_named(user: SettingsFolders) -> None:
    path = user.write("home/.bobstay/settings.json", "")
    path.write_bytes(b'{"other": "\xff"}')
    with pytest.raises(BrokenSettings):
        user.load()


def test_a_byte_order_mark_and_an_empty_file_are_no_fault(user: SettingsFolders) -> None:
    path = user.write("home/.bobstay/settings.json", "")
    assert user.load().settings == Settings()
    path.write_bytes(b'\xef\xbb\xbf{"model": "x"}')
    assert user.load().settings.model == "x"


def test_a_bad_rule_is_named_with_its_place(user: SettingsFolders) -> None:
    def check(text: str, verdict: str) -> None:
        if "(" in text and not text.endswith(")"):
            raise ValueError(f"{text!r} has no closing bracket in {verdict}")

    path = user.write("work/.claude/settings.json", '{"permissions": {\n "deny": ["Read",\n  "Bash(rm"]}}')
    with pytest.raises(BrokenSettings, match="no closing bracket in deny") as caught:
        user.load(check_rule=check)
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(path), 3, 3)


def test_what_is_not_a_file_is_refused_without_hanging(user: SettingsFolders) -> None:
    path = user.home / ".bobstay" / "settings.json"
    path.mkdir(parents=True)
    with pytest.raises(BrokenSettings, match="directory"):
        user.load()
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(BrokenSettings, match="not a regular file"):
        user.load()
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(BrokenSettings, match="cannot be read"):
        user.load()
    path.unlink()
    path.write_text('{"x": "' + "a" * (1 << 20) + '"}')
    with pytest.raises(BrokenSettings, match="1 MiB"):
        user.load()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_not_passed_over(user: SettingsFolders) -> None:
    user.write("home/.bobstay/settings.json", "{}").chmod(0)
    with pytest.raises(BrokenSettings, match="Permission denied"):
        user.load()


def test_a_file_in_the_place_of_the_folder_is_as_if_there_were_none(user: SettingsFolders) -> None:
    (user.work / ".claude").write_text("")
    assert user.load().settings == Settings()


PROJECT = {
    "permissions": {"allow": ["Bash"], "ask": ["WebFetch"], "deny": ["Read(.env)"], "defaultMode": "acceptEdits"},
    "env": {"PATH": "/evil"},
    "hooks": {"Stop": [1]},
    "statusLine": 1,
}


def test_an_untrusted_folder_can_only_forbid(user: SettingsFolders) -> None:
    """H4-3, as far as settings go."""
    user.write("work/.claude/settings.json", PROJECT)
    user.write("work/.bobstay/settings.local.json", {"model": "x"})
    loaded = user.load(trust=False)
    assert [(rule.behavior, rule.text) for rule in loaded.rules] == [("ask", "WebFetch"), ("deny", "Read(.env)")]
    assert loaded.settings.env == {}
    assert loaded.settings.hooks == {}
    assert loaded.settings.model is None
    assert loaded.settings.permissions.default_mode is None
    assert not loaded.trusted
    for expected in (
        ".claude/settings.json (permissions.allow, permissions.defaultMode, env, hooks, statusLine)",
        ".bobstay/settings.local.json (model)",
        "--trust",
        str(user.work),
    ):
        assert expected in loaded.untrusted_notice


def test_a_folder_that_only_forbids_is_not_complained_about(user: SettingsFolders) -> None:
    user.write("work/.claude/settings.json", {"permissions": {"deny": ["Read(.env)"]}})
    assert user.load(trust=False).untrusted_notice == ""


@pytest.mark.parametrize("spelling", ["real", "link", "home"])
def test_the_user_says_which_folders_are_trusted(user: SettingsFolders, spelling: str) -> None:
    user.write("work/.claude/settings.json", PROJECT)
    link = user.home / "link"
    link.symlink_to(user.work)
    folder = {"real": str(user.work), "link": str(link), "home": "~/link"}[spelling]
    user.write("home/.bobstay/settings.json", {"trustedFolders": [folder]})
    for sources in (None, ("project",)):
        loaded = user.load(trust=False, setting_sources=sources)
        assert loaded.trusted
        assert loaded.settings.hooks == {"Stop": [1]}


def test_a_folder_cannot_vouch_for_itself_nor_a_parent_for_it(user: SettingsFolders) -> None:
    user.write("work/.claude/settings.json", {**PROJECT, "trustedFolders": [str(user.work)]})
    user.write("home/.bobstay/settings.json", {"trustedFolders": [str(user.work.parent), ".", ""]})
    assert not user.load(trust=False).trusted


def test_in_the_home_directory_the_users_files_count_once_and_are_trusted(user: SettingsFolders) -> None:
    user.write("home/.bobstay/settings.json", {"permissions": {"allow": ["Read"]}})
    loaded = load(str(user.home), user.paths)
    assert [(rule.text, rule.source) for rule in loaded.rules] == [("Read", "user")]
    assert loaded.untrusted_notice == ""


@given(st.binary(max_size=60))
def test_any_bytes_are_settings_or_broken(data: bytes) -> None:
    try:
        found = decode(data, "file")
    except BrokenSettings as error:
        assert "file" in str(error)  # noqa: PT017 - either way is fine, but an error must name the file
    else:
        assert isinstance(found, Settings)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["permissions", "model", "env", "hooks", "x", "bash"]), json_values))
def test_any_json_object_is_settings_or_broken_at_a_place(raw: dict[str, Any]) -> None:
    try:
        decode(json.dumps(raw, indent=1).encode(), "file")
    except BrokenSettings as error:
        assert error.line >= 1  # noqa: PT017 - either way is fine, but an error must have its place


@pytest.mark.parametrize("value", [0, -1, "30", 0.5, True, [], 10**30])
def test_a_cleanup_period_that_is_no_number_of_days_is_refused(user: SettingsFolders, value: Any) -> None:
    user.write("home/.bobstay/settings.json", {"cleanupPeriodDays": value})
    with pytest.raises(BrokenSettings, match=r"settings\.json:1:\d+: cleanupPeriodDays: expected `int"):
        user.load()


def test_a_cleanup_period_of_another_program_that_cannot_be_used_removes_nothing(user: SettingsFolders) -> None:
    user.write("home/.claude/settings.json", {"cleanupPeriodDays": 0})
    loaded = user.load()
    assert loaded.settings.cleanup_period_days is None
    assert "cleanupPeriodDays is ignored" in loaded.warnings[0]


def test_no_folder_decides_how_long_sessions_are_kept(user: SettingsFolders) -> None:
    user.write("work/.bobstay/settings.json", {"cleanupPeriodDays": 1})
    user.write("work/.claude/settings.local.json", {"cleanupPeriodDays": 1})
    assert user.load().settings.cleanup_period_days is None
    user.write("home/.bobstay/settings.json", {"cleanupPeriodDays": 45})
    assert user.load().settings.cleanup_period_days == 45


def test_what_another_program_removes_after_a_time_says_nothing_of_our_sessions(user: SettingsFolders) -> None:
    user.write("home/.claude/settings.json", {"cleanupPeriodDays": 30})
    assert user.load().settings.cleanup_period_days is None
