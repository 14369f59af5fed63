"""What Rust records is what others read: the reference HdrHistogram libraries, and numpy on raw samples."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import zlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

import planted
from feedbench.samples import read_samples

QUANTILES = {
    "p50": Fraction(1, 2),
    "p90": Fraction(9, 10),
    "p95": Fraction(19, 20),
    "p99": Fraction(99, 100),
    "p99.9": Fraction(999, 1000),
    "p99.99": Fraction(9999, 10000),
}
TAGS = ["latency", "latency_from_send", "lateness"]
JAVA_READER = planted.REPOSITORY / "tests" / "interop" / "hdr-java"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> planted.Planted:
    return planted.write(tmp_path_factory.mktemp("planted"))


def same_to_three_digits(one: int, other: int) -> bool:
    """HdrHistogram's promise at 3 digits: a value stands for its bucket, which is 0.1 % wide."""
    return abs(one - other) <= max(one, other) / 1000


def test_planted_quantiles_are_exact(written: planted.Planted) -> None:
    ranks = {name: math.ceil(q * planted.COUNT) for name, q in QUANTILES.items()}
    wanted = {name: planted.planted_ns(rank) for name, rank in ranks.items()}
    assert {name: written.summary[name] for name in QUANTILES} == wanted
    values = [planted.planted_ns(rank) for rank in range(1, planted.COUNT + 1)]
    assert written.summary["count"] == planted.COUNT
    assert (written.summary["min"], written.summary["max"]) == (min(values), max(values))
    assert written.summary["mean"] == pytest.approx(sum(values) / planted.COUNT, rel=1e-15)


def test_numpy_reads_the_samples(written: planted.Planted) -> None:
    content = (written.directory / "samples.fbs").read_bytes()
    assert content[:8] == b"FBSAMPLE"
    version, header_bytes = np.frombuffer(content, "<u4", count=2, offset=8)
    header = json.loads(content[16 : 16 + header_bytes])
    assert (version, header["name"], header["clock"]) == (1, "planted", "CLOCK_MONOTONIC")
    layout = np.dtype([(name, "<u8" if name.endswith("_ns") else "<u4") for name in header["columns"]])
    assert layout.itemsize == 32

    records, footer = content[16 + header_bytes : -32], content[-32:]
    assert footer[:8] == b"FBSMPEND"
    count, checksum, zero = np.frombuffer(footer, "<u8", offset=8)
    samples = np.frombuffer(records, layout)
    assert (count, checksum, zero) == (len(samples), zlib.crc32(records), 0)

    assert len(samples) == planted.COUNT
    latencies = np.sort(samples["received_ns"] - samples["intended_ns"])
    assert latencies.tolist() == [planted.planted_ns(rank) for rank in range(1, planted.COUNT + 1)]
    assert np.array_equal(samples["sent_ns"], samples["intended_ns"])
    assert samples["connection"].tolist() == [number % 8 for number in range(planted.COUNT)]
    assert samples["slice"].tolist() == [number // 100 for number in range(planted.COUNT)]


def test_our_python_reads_the_samples(written: planted.Planted) -> None:
    samples = read_samples(written.directory / "samples.fbs")
    assert samples.complete
    latencies = samples.records["received_ns"] - samples.records["intended_ns"]
    assert int(latencies.sum()) == sum(planted.planted_ns(rank) for rank in range(1, planted.COUNT + 1))


def check_log(found: dict[str, dict[str, Any]], summary: dict[str, Any]) -> None:
    """Counts alike, quantiles within three digits."""
    assert list(found) == TAGS
    assert {tag: values["count"] for tag, values in found.items()} == dict.fromkeys(TAGS, planted.COUNT)
    for tag in ["latency", "latency_from_send"]:
        for name in [*QUANTILES, "max"]:
            read, exact = found[tag][name], summary[name]
            assert same_to_three_digits(read, exact), f"{tag} {name}: {read} read, {exact} written"
    assert found["lateness"]["max"] == 0


def read_with_python(log: Path) -> dict[str, dict[str, Any]]:
    reader = HistogramLogReader(str(log), HdrHistogram(1, 3_600_000_000_000, 3))
    found = {}
    while (histogram := reader.get_next_interval_histogram()) is not None:
        values = {name: histogram.get_value_at_percentile(float(q * 100)) for name, q in QUANTILES.items()}
        values |= {"count": histogram.get_total_count(), "max": histogram.get_max_value()}
        found[histogram.get_tag()] = values
    return found


def test_the_python_reference_reads_the_log(written: planted.Planted) -> None:
    check_log(read_with_python(written.directory / "histogram.hlog"), written.summary)


def test_a_wrong_log_would_be_noticed(written: planted.Planted) -> None:
    found = read_with_python(written.directory / "histogram.hlog")
    found["latency"]["p99.9"] = round(found["latency"]["p99.9"] * 1.003)
    with pytest.raises(AssertionError, match=r"latency p99\.9"):
        check_log(found, written.summary)


@pytest.mark.skipif(
    shutil.which("java") is None or shutil.which("mvn") is None,
    reason="java or mvn is absent (Debian: apt-get install openjdk-17-jdk-headless maven)",
)
def test_the_java_reference_reads_the_log(written: planted.Planted, tmp_path: Path) -> None:
    log = written.directory / "histogram.hlog"
    command = ["mvn", "--batch-mode", "--quiet", f"-Doutput={tmp_path}"]
    command += ["--file", str(JAVA_READER / "pom.xml")]
    finished = subprocess.run(
        [*command, "compile", "exec:java", f"-Dexec.args={log}"], capture_output=True, text=True, check=False
    )
    if finished.returncode != 0 and "Could not transfer artifact" in finished.stdout:
        pytest.skip("Maven reaches no repository that has HdrHistogram")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    # Maven may put a colour reset before the first line.
    lines = [json.loads(line[line.index("{") :]) for line in finished.stdout.splitlines() if "{" in line]
    check_log({line["tag"]: line for line in lines}, written.summary)
