"""The mark that survives a cleared environment (F12)."""

import os
import resource
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.system.process_marker import has_tag, read_tag, tag_children, tag_of
from bobstay.system.process_tree import ProcessTree, kill_marked
from tests.kit.waiting import DEADLINE, wait_until

MARK = "0123456789abcdef:a-session:7"
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


@linux
def test_what_is_started_within_wears_the_tag_and_its_children_do_and_we_do_not() -> None:
    before = resource.getrlimit(resource.RLIMIT_RSS)
    with tag_children(MARK):
        bare = subprocess.Popen(["/usr/bin/env", "-i", "/usr/bin/setsid", "/bin/sleep", "300"])
    after = subprocess.Popen(["/bin/sleep", "300"])
    try:
        assert has_tag(bare.pid, MARK)
        assert has_tag(bare.pid, "0123456789abcdef")
        assert not has_tag(bare.pid, "0123456789abcdef:a-session:8")
        assert not has_tag(bare.pid, "")
        assert not has_tag(after.pid, MARK)
        assert bare.pid in ProcessTree(2**22 + 1, MARK).members()
        # Until it is the program it is to become.
        wait_until(lambda: after.pid not in ProcessTree(2**22 + 1, MARK).members())
        assert resource.getrlimit(resource.RLIMIT_RSS) == before
        assert read_tag(os.getpid()) == ""
    finally:
        for process in (bare, after):
            process.kill()
            process.wait()


@linux
def test_a_sweep_of_the_session_finds_what_has_no_environment() -> None:
    session = os.urandom(8).hex()
    with tag_children(f"{os.urandom(8).hex()}:{session}:1"):
        bare = subprocess.Popen(["/bin/sleep", "300"], env={})
    assert kill_marked(f":{session[::-1]}:") == 0
    assert kill_marked(f":{session}:") == 1
    assert bare.wait(timeout=DEADLINE) == -9


def test_a_mark_of_another_form_gives_no_tag_to_anybody() -> None:
    before = resource.getrlimit(resource.RLIMIT_RSS)
    for mark in ("", "only-one-part", "two:parts"):
        with tag_children(mark):
            assert resource.getrlimit(resource.RLIMIT_RSS) == before


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters=":/")), min_size=3, max_size=3))
def test_a_tag_is_a_limit_far_above_any_memory_and_begins_with_that_of_its_process(parts: list[str]) -> None:
    tag = tag_of(":".join(parts))
    assert len(tag) == 18
    assert 10**17 < int(tag) < 2**62
    assert tag.startswith(tag_of(":".join(parts[:2])))
    assert tag == tag_of("outer:1:2/" + ":".join(parts))
