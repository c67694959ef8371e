"""Sealing secrets: what goes in comes out at its own place, under a key of ours, and nowhere else."""

import os
import stat
import subprocess
import sys
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path

import pytest

from tidings.domain.errors import ConfigInvalid
from tidings.storage.vault import KEY_FILE, Vault, keys_kept_in, read_keys

OLD, NEW = bytes(range(32)), bytes(range(32, 64))
PLACE = ("function", "default", "default", "f")


@pytest.mark.parametrize("secret", ["x", "påss wörd\n", "y" * 10_000])
def test_a_sealed_secret_opens_at_its_place(secret: str) -> None:
    vault = Vault([OLD])

    sealed = vault.seal(secret, PLACE)

    assert vault.open(sealed, PLACE) == secret
    assert secret.encode() not in sealed or len(secret) == 1


def test_the_same_secret_is_never_sealed_the_same_way_twice() -> None:
    vault = Vault([OLD])

    assert vault.seal("s", PLACE) != vault.seal("s", PLACE)


def test_a_sealed_secret_opens_at_no_other_place() -> None:
    vault = Vault([OLD])
    sealed = vault.seal("s", PLACE)

    for other in [("function", "default", "defaultf", ""), ("function", "acme", "default", "f"), ()]:
        with pytest.raises(ConfigInvalid):
            vault.open(sealed, other)


@pytest.mark.parametrize("place", range(0, 30, 3))
def test_a_sealed_secret_that_was_changed_does_not_open(place: int) -> None:
    vault = Vault([OLD])
    sealed = bytearray(vault.seal("secret", PLACE))
    sealed[place % len(sealed)] ^= 1

    with pytest.raises(ConfigInvalid):
        vault.open(bytes(sealed), PLACE)


@pytest.mark.parametrize("sealed", [b"", b"\x01", b"\x01short", b"\x02" + bytes(40)])
def test_what_was_never_sealed_does_not_open(sealed: bytes) -> None:
    with pytest.raises(ConfigInvalid):
        Vault([OLD]).open(sealed, PLACE)


def test_a_new_key_in_front_seals_and_the_old_one_still_opens() -> None:
    before = Vault([OLD]).seal("s", PLACE)
    both = Vault([NEW, OLD])

    assert both.open(before, PLACE) == "s"
    assert Vault([NEW]).open(both.seal("s", PLACE), PLACE) == "s"
    with pytest.raises(ConfigInvalid, match="the key it was stored with"):
        Vault([NEW]).open(before, PLACE)


def test_without_a_key_nothing_is_sealed_and_the_remedy_is_named() -> None:
    with pytest.raises(ConfigInvalid, match="set TIDINGS_SECRET_KEY"):
        Vault().seal("s", PLACE)


def test_keys_are_not_shown() -> None:
    assert repr(Vault([OLD, NEW])) == "Vault(2 keys)"


def test_keys_are_base64_with_commas_between() -> None:
    words = [b64encode(OLD).decode(), f" {urlsafe_b64encode(bytes([255] * 32)).decode()}\n"]

    assert read_keys(",".join(words)) == [OLD, bytes([255] * 32)]


@pytest.mark.parametrize("given", ["", "password", b64encode(bytes(31)).decode(), f"{b64encode(OLD).decode()},"])
def test_what_is_no_key_is_refused_without_repeating_it(given: str) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        read_keys(given)

    assert "32 random bytes" in str(refused.value)
    assert not given or given not in str(refused.value)


def test_a_key_is_made_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    [first] = keys_kept_in(tmp_path)

    assert keys_kept_in(tmp_path) == [first]
    assert len(first) == 32
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == [KEY_FILE]


def test_processes_that_start_at_once_agree_on_one_key(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys\n"
        "from tidings.storage.vault import keys_kept_in\n"
        "print(keys_kept_in(pathlib.Path(sys.argv[1]))[0].hex())\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(6)
    ]

    keys = {process.communicate(timeout=60)[0] for process in started}

    assert keys == {keys_kept_in(tmp_path)[0].hex() + "\n"}


def test_a_broken_key_file_is_named_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).write_text("oops")

    with pytest.raises(ConfigInvalid, match=r"secret\.key"):
        keys_kept_in(tmp_path)

    assert (tmp_path / KEY_FILE).read_text() == "oops"


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="set TIDINGS_SECRET_KEY"):
        keys_kept_in(tmp_path / "nowhere")
