"""The catalogue names what exists, and what is locked names no registry."""

import re
from pathlib import Path

import pytest

from exchange_conformance.catalogue import ROOM, read_catalogue
from exchange_conformance.errors import ConformanceError

ADDRESSES = re.compile(r"https?://|--index-url|--find-links")
CLIENTS = sorted({trial.folder for trial in read_catalogue().trials})


def test_the_best_known_clients_have_their_trials() -> None:
    exchanges: dict[str, set[str]] = {}
    for trial in read_catalogue().trials:
        exchanges.setdefault(trial.client, set()).add(trial.personality)
    assert exchanges["python/ccxt"] == {"binance", "bybit", "coinbase", "gemini", "kraken", "bithumb"}
    assert exchanges["python/cryptofeed"] == {"binance", "coinbase", "gemini", "kraken", "bithumb"}
    assert {"python/python-binance", "python/binance-connector", "node/node-binance-api"} <= exchanges.keys()
    assert {"node/binance-api-node", "node/binance-connector", "node/tardis-dev"} <= exchanges.keys()
    assert {"python/coinbase-advanced-py", "python/python-kraken-sdk"} <= exchanges.keys()


def test_each_folder_is_a_client_and_each_client_has_a_folder() -> None:
    folders = {
        lock.parent for pattern in ("requirements.txt", "package-lock.json") for lock in ROOM.rglob(pattern)
    }
    assert folders == set(CLIENTS)


@pytest.mark.parametrize("folder", CLIENTS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_what_is_locked_names_hashes_and_no_registry(folder: Path) -> None:
    if folder.parent.name == "python":
        lock = "\n".join(
            line for line in (folder / "requirements.txt").read_text().splitlines() if "#" not in line
        )
        names, hashes = re.findall(r"(?m)^[\w.-]+==", lock), re.findall(r"--hash=sha256:", lock)
        assert len(hashes) >= len(names) > 0
    else:
        lock = re.sub(r'"url": "[^"]*"', "", (folder / "package-lock.json").read_text())
        assert '"resolved"' not in lock
        assert lock.count('"integrity"') > 0
    assert ADDRESSES.search(lock) is None
    assert (folder / ("driver.py" if folder.parent.name == "python" else "driver.mjs")).exists()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('client = "python/x"\nplace = "ports"\npersonality = "nyse"', "personality 'nyse' is none of"),
        ('client = "python/x"\nplace = "moon"\npersonality = "binance"', "place 'moon' is none of"),
        ('client = "python/x"\nplace = "ports"\npersonality = "binance"\ndialect = "x"', "dialect 'x'"),
        ('client = "python/x"\nplace = "ports"\npersonality = "binance"\ncolour = 1', "colour"),
        ('place = "ports"\npersonality = "binance"', "client"),
    ],
)
def test_a_trial_that_is_not_understood_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "trials.toml"
    hosts = '[hosts]\nbinance = { ws = "wss://x", rest = "https://x" }\n'
    path.write_text(f'{hosts}[[trial]]\nwitness = [{{ path = "/" }}]\n{text}\n')
    with pytest.raises(ConformanceError, match=re.escape(complaint)):
        read_catalogue(path)


def test_a_filter_that_fits_nothing_lists_what_there_is() -> None:
    with pytest.raises(ConformanceError, match="no trial is called nope: there are python/python-binance@"):
        read_catalogue().select(["nope"])
