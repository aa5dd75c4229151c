"""Which values are redacted: generated ones are, ordinary words, names, numbers and paths are not (H12-4)."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.redaction.randomness import looks_random

ORDINARY = [
    *("password", "postgres", "changeme", "minioadmin", "rootpassword", "supersecretpassword", "swordfish", "EMPTY"),
    *("admin123!", "test1234", "postgres16", "lm-studio", "my-secret-token", "dev-secret-do-not-use", "sk-test"),
    *("development_password", "check_password", "MySuperSecretPassword", "thisIsMyPassword", "OpenSesame"),
    *("localhost:5432", "db-1.internal.example", "127.0.0.1:8080", "user@example.com", "https://example.org/login"),
    *("/run/secrets/db", "~/.config/token", "./secret.key", "C:\\keys\\id.pem", "12345678", "2024-01-01", "20261117"),
    *("us-east-1", "********", "xxxxxxxxxxxxxxxxxxxx", "<your-api-key>"),
]
GENERATED = [
    *("p4ssw0rd", "hunter2hunter2", "S3cret!pw", "xkqzvbnt", "0123456789abcdef", "correct-horse-battery"),
    *("correct horse battery staple", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aBcDeFgHiJkLmNoP"),
    *("3f2504e0-4f89-11d3-9a0c-0305e82c3301", "JBSWY3DPEHPK3PXP", "qwmzxkvbplthgrdn"),
    "https://hooks.example.org/services/T0/B0/XYZabc9fK2",
]
WORDS = st.sampled_from(
    [
        *(
            "password",
            "postgres",
            "admin",
            "user",
            "database",
            "host",
            "server",
            "change",
            "secret",
            "value",
            "service",
        ),
        *("account", "default", "local", "test", "development", "production", "staging", "login", "manager", "check"),
        *("system", "project", "backend", "frontend", "cache", "queue"),
    ]
)


@pytest.mark.parametrize("value", ORDINARY)
def test_an_ordinary_value_is_not_taken_for_a_secret(value: str) -> None:
    assert not looks_random(value)


@pytest.mark.parametrize("value", GENERATED)
def test_a_generated_value_or_a_passphrase_is_taken_for_a_secret(value: str) -> None:
    assert looks_random(value)


@given(st.lists(WORDS, min_size=1, max_size=5), st.sampled_from(["_", ".", "/", ":", "@"]), st.integers(0, 9999))
def test_names_hosts_and_paths_made_of_words_are_never_secrets(words: list[str], joint: str, number: int) -> None:
    assert not looks_random(joint.join(words))
    assert not looks_random(joint.join(words) + str(number))
    assert not looks_random(words[0] + "".join(word.title() for word in words[1:]))


@given(st.integers(0, 10**40))
def test_a_plain_number_is_never_a_secret(number: int) -> None:
    assert not looks_random(str(number))


LETTERS = st.text(alphabet=string.ascii_letters, min_size=1, max_size=12)


@given(LETTERS, st.integers(0, 99), LETTERS, st.text(alphabet=string.ascii_letters + string.digits, min_size=8))
def test_digits_between_letters_make_a_secret_from_eight_characters_on(a: str, digit: int, b: str, rest: str) -> None:
    assert looks_random(f"{a}{digit}{b}{rest}")


@given(st.text(max_size=60))
def test_no_value_breaks_it_and_a_short_one_is_no_secret(value: str) -> None:
    assert not looks_random(value[:7])
    assert looks_random(value) in (True, False)
