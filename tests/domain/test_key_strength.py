"""Keys that people choose: guessed ones are refused, random ones of any alphabet are not."""

import random
import string

import pytest

from tidings.domain.key_strength import SHORTEST, problem_of_chosen_key

ALPHABETS = {
    "hexadecimal": "0123456789abcdef",
    "digits": string.digits,
    "letters": string.ascii_lowercase,
    "base64": string.ascii_letters + string.digits + "+/",
}


@pytest.mark.parametrize("key", ["", "password", "x" * 31, "uR2vX0s9Qe7LbN4yTgKd6wZa1PjHc8M"])
def test_a_short_key_is_refused_with_its_length(key: str) -> None:
    assert problem_of_chosen_key(key) == f"has {len(key)} characters, and needs {SHORTEST}"


@pytest.mark.parametrize(
    "key",
    [
        *("a" * 64, "password" * 4, "Password1!" * 4, "abc123" * 6, "xyz" * 12, "0123456789abcdef" * 2),
        *("1234567890" * 4, "98765432109876543210987654321098", "abcdefghijklmnopqrstuvwxyz0123456789"),
        *("qwertyuiopasdfghjklzxcvbnm123456", "MySuperSecretAdminPassword123456", "change-me-please-change-me-please"),
        *("correct horse battery staple correct", "supersecretoperatortoken-tidings"),
    ],
)
def test_what_everybody_tries_first_is_refused_however_long(key: str) -> None:
    assert problem_of_chosen_key(key) == "is made of common words, repetitions or sequences"


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_what_is_drawn_at_random_is_taken(alphabet: str) -> None:
    drawn = random.Random(1)

    keys = ["".join(drawn.choices(ALPHABETS[alphabet], k=SHORTEST)) for _ in range(2_000)]

    assert [key for key in keys if problem_of_chosen_key(key)] == []
