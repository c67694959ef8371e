"""Where an engine's settings come from: those of every command, or those of a Config and no others."""

from pathlib import Path

import pytest

from tidings import Config, open_engine
from tidings.domain.errors import ConfigInvalid, StorageUnavailable


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and an environment without settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    return tmp_path


async def test_without_a_config_the_settings_are_those_of_every_command(
    here: Path, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", dsn)
    monkeypatch.setenv("TIDINGS_DATA_DIR", str(here / "data"))
    (here / "tidings.toml").write_text("allow_unsafe_storage = true\nlease_seconds = 123\n")

    engine = await open_engine()
    await engine.close()

    assert engine.kernel.db.dsn == dsn
    assert engine.kernel.limits.lease.total_seconds() == 123
    assert not (here / "data").exists()


@pytest.mark.usefixtures("here")
async def test_without_a_config_a_misspelt_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDINGS_SMTP_ULR", "smtp://host")

    with pytest.raises(ConfigInvalid, match=r"^TIDINGS_SMTP_ULR is not a setting; did you mean TIDINGS_SMTP_URL"):
        await open_engine()


async def test_a_config_made_by_hand_holds_only_what_it_is_given(
    here: Path, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://127.0.0.1:1/nowhere")
    monkeypatch.setenv("TIDINGS_LEASE_SECONDS", "123")
    (here / "tidings.toml").write_text("no_such_setting = true\n")

    engine = await open_engine(Config(database_url=dsn, allow_unsafe_storage=True))
    await engine.close()

    assert engine.kernel.db.dsn == dsn
    assert engine.kernel.limits.lease.total_seconds() == 300


@pytest.mark.usefixtures("here")
async def test_a_database_that_is_configured_and_not_there_is_no_reason_to_use_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://127.0.0.1:1/nowhere")

    with pytest.raises(StorageUnavailable, match=r"cannot connect to postgresql://127\.0\.0\.1:1/nowhere"):
        await open_engine()


def test_the_readme_opens_an_engine_on_the_settings() -> None:
    text = (Path(__file__).parent.parent / "README.md").read_text()

    assert "await open_engine()" in text
    assert "open_engine(Config())" not in text
