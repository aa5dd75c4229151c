"""Globs of rules and exclusions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.context.path_globs import matches_glob


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        ("a.ts", "*.ts", True),
        ("src/a.ts", "*.ts", False),
        ("src/a.ts", "**/*.ts", True),
        ("a.ts", "**/*.ts", True),
        ("src/x/y/a.ts", "src/**/*.ts", True),
        ("src/a.ts", "src/**/*.ts", True),
        ("src/a.tsx", "src/**/*.{ts,tsx}", True),
        ("lib/a.js", "{src,lib}/*.{ts,js}", True),
        ("lib/a.py", "{src,lib}/*.{ts,js}", False),
        ("src/deep/a", "src/", True),
        ("src/deep/a", "src/**", True),
        ("a1.py", "a[0-9].py", True),
        ("ab.py", "a[!0-9].py", True),
        ("a.py", "./a.py", True),
        ("a.py", "/a.py", True),
        ("/home/x/CLAUDE.md", "**/x/CLAUDE.md", True),
        ("/home/x/CLAUDE.md", "/home/*/CLAUDE.md", True),
        ("/home/x/CLAUDE.md", "x/CLAUDE.md", False),
        ("{a}.py", "{a}.py", True),
    ],
)
def test_a_glob_covers_what_it_says(path: str, pattern: str, expected: bool) -> None:
    assert matches_glob(path, pattern) is expected


@given(st.text(st.sampled_from("ab/*?[]{},!-."), max_size=30), st.text(st.sampled_from("ab/."), max_size=20))
def test_no_pattern_breaks_it(pattern: str, path: str) -> None:
    assert matches_glob(path, pattern) in (True, False)


@given(st.lists(st.text(st.sampled_from("ab1_"), min_size=1, max_size=4), min_size=1, max_size=5))
def test_a_plain_path_covers_itself_and_two_stars_cover_everything(names: list[str]) -> None:
    path = "/".join(names)
    assert matches_glob(path, path)
    assert matches_glob(path, "**")
    assert matches_glob(path, f"**/{names[-1]}")


@pytest.mark.parametrize("pattern", ["*a" * 500, "**/" * 300 + "x", "{a,b}" * 200, "{" * 1000, "a{" + "," * 900 + "}b"])
def test_no_pattern_takes_long(pattern: str) -> None:
    assert not matches_glob("/".join(["a" * 200] * 20), pattern)
