"""`python -m fix_conformance.bench`: our FIX parser beside simplefix and QuickFIX's C++, pass by pass.

Each is a process of its own that has read the same file of messages; passes go in turn, so that whatever
else the machine does befalls all alike. How many times as fast ours is, is asked within each round, and told
as the median of the rounds with an interval of at least 95 %. A pass reads every field; ours and QuickFIX's
verify BodyLength and CheckSum, too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from exchange_conformance.errors import ConformanceError
from fix_conformance.trials import CHECKOUT, ENGINES, PACKAGES
from fix_conformance.wire import Field, encode

AT_LEAST = {"simplefix": 20.0, "quickfix": 1.0}
"""How many times as fast as each of these ours must be."""
OURS = "feedbench"
ROUNDS = 11
FEWEST_ROUNDS = 6
"""With fewer no two order statistics hold the median with 95 %."""
MESSAGES = 2_000
SOURCES = (
    "Message",
    "FieldMap",
    "Group",
    "DataDictionary",
    "PUGIXML_DOMDocument",
    "pugixml",
    "MessageSorters",
)
FURTHER_SOURCES = ("FieldConvertors", "FieldTypes", "Utility")
COMPILE = ("g++", "-O3", "-std=c++17", "-DNDEBUG")


Passes = dict[str, list[int]]
"""Nanoseconds of each pass, by parser, in the order of the rounds."""


@dataclass(frozen=True)
class Times:
    """How many times as fast as another parser ours is: the rounds' median, and where it lies with 95 %."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, passes: Passes, other: str) -> Times:
        """From the ratio within each round."""
        ratios = sorted(theirs / ours for ours, theirs in zip(passes[OURS], passes[other], strict=True))
        from_either_end = _order_statistic(len(ratios))
        return cls(statistics.median(ratios), ratios[from_either_end], ratios[-1 - from_either_end])


def _order_statistic(rounds: int) -> int:
    """The greatest k for which the k-th from below and from above, from 0, hold the median with 95 %."""
    outside, k = 2 / 2**rounds, 0
    while (outside := outside + 2 * math.comb(rounds, k + 1) / 2**rounds) <= 0.05:
        k += 1
    return k


@dataclass(frozen=True)
class Parser:
    """A running program that makes a pass for each line that it is given."""

    name: str
    process: subprocess.Popen[str]

    def pass_ns(self) -> int:
        """Nanoseconds of one pass."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise ConformanceError(f"{self.name} ended")
        return int(line)


def main() -> int:
    """0 if ours is as fast as it must be, 1 if not or if something could not be run."""
    parser = argparse.ArgumentParser(
        prog="fix_conformance.bench", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="passes of each parser")
    options = parser.parse_args()
    if options.rounds < FEWEST_ROUNDS:
        parser.error(f"--rounds {options.rounds}: an interval wants {FEWEST_ROUNDS} at least")
    try:
        passes = measure(options.rounds)
    except ConformanceError as error:
        print(f"bench-fix: {error}", file=sys.stderr)
        return 1
    return report(passes, as_json=options.json)


def report(passes: Passes, *, as_json: bool) -> int:
    """Prints the rates and how many times as fast ours is; 1 if that is too little."""
    rates = {name: MESSAGES / statistics.median(took) * 1e9 for name, took in passes.items()}
    times = {name: Times.of(passes, name) for name in AT_LEAST}
    if as_json:
        told = {name: asdict(ratio) for name, ratio in times.items()}
        print(json.dumps({"schema": 1, "messages_per_s": rates, "times": told, "at_least": AT_LEAST}))
    else:
        for name, rate in rates.items():
            print(f"{name:<10} {rate:>12,.0f} messages/s")
        for name, ratio in times.items():
            word = "pass" if ratio.median >= AT_LEAST[name] else "FAIL"
            found = f"{ratio.median:.1f} ({ratio.low:.1f} to {ratio.high:.1f}) times {name}"
            print(f"{word}  {found}, paired by round; must be at least {AT_LEAST[name]:g}")
    return int(any(ratio.median < AT_LEAST[name] for name, ratio in times.items()))


def measure(rounds: int) -> Passes:
    """Passes in turn, after one of each that does not count."""
    with tempfile.TemporaryDirectory() as folder:
        messages = Path(folder) / "messages"
        messages.write_bytes(b"".join(encode(message(number)) for number in range(MESSAGES)))
        commands = {
            OURS: [*our_parser(), str(messages)],
            "quickfix": [*quickfix_parser(), str(messages), str(dictionary())],
            "simplefix": [sys.executable, "-m", "fix_conformance.simplefix_pass", str(messages)],
        }
        parsers = [Parser(name, _started(command)) for name, command in commands.items()]
        try:
            for parser in parsers:
                parser.pass_ns()
            passes: Passes = {parser.name: [] for parser in parsers}
            for _ in range(rounds):
                for parser in parsers:
                    passes[parser.name].append(parser.pass_ns())
        finally:
            for parser in parsers:
                parser.process.kill()
                parser.process.communicate()
    return passes


def message(number: int) -> list[Field]:
    """By turns a change of one level, one of four, and a snapshot of twenty."""
    entries = (1, 4, 20)[number % 3]
    kind = "W" if entries == 20 else "X"
    fields: list[Field] = [(8, "FIX.4.4"), (35, kind), (34, str(number + 1)), (49, "FEEDBENCH")]
    fields += [(52, "20261121-14:30:00.123"), (56, "CLIENT"), (262, "1")]
    if kind == "W":
        fields.append((55, "BTC/USD"))
    fields.append((268, str(entries)))
    for entry in range(entries):
        price, size = f"{61837 + entry}.{number % 100:02}", f"{entry}.{number:05}"
        if kind == "X":
            fields += [(279, "1"), (269, str(entry % 2)), (55, "BTC/USD"), (270, price), (271, size)]
            fields += [(272, "20261121"), (273, "14:30:00.123")]
        else:
            fields += [(269, str(entry % 2)), (270, price), (271, size)]
    return fields


def our_parser() -> list[str]:
    """This checkout's build of the example."""
    program = CHECKOUT / "target" / "release" / "examples" / "fix_parse"
    if not program.exists():
        raise ConformanceError(f"{program} is not there: `make bench-fix` builds it")
    return [str(program)]


def _source() -> Path:
    """QuickFIX's source as the Python registry has it, unpacked."""
    lock = ENGINES / "python" / "quickfix" / "requirements.txt"
    target = PACKAGES / f"quickfix-source-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    found = list(target.glob("quickfix-*/C++"))
    if not found:
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        download = [
            "-m",
            "pip",
            "--quiet",
            "download",
            "--no-deps",
            "--no-binary",
            ":all:",
            "--require-hashes",
        ]
        _run([sys.executable, *download, "-r", str(lock), "-d", str(target)])
        for archive in target.glob("*.tar.gz"):
            shutil.unpack_archive(archive, target, filter="data")
        found = list(target.glob("quickfix-*/C++"))
    if not found:
        raise ConformanceError(f"no C++ sources came into {target}")
    return found[0]


def dictionary() -> Path:
    """QuickFIX's own FIX 4.4."""
    return _source().parent / "spec" / "FIX44.xml"


def quickfix_parser() -> list[str]:
    """Compiles the part of QuickFIX that parses, once."""
    source, driver = _source(), ENGINES / "cpp" / "quickfix" / "parse.cpp"
    digest = hashlib.sha256(driver.read_bytes()).hexdigest()[:16]
    program = source.parent / f"parse-{digest}"
    if not program.exists():
        print("bench-fix: compiling QuickFIX's parser, which takes minutes", file=sys.stderr)
        files = [str(source / f"{name}.cpp") for name in (*SOURCES, *FURTHER_SOURCES)]
        includes = [f"-I{source}", f"-I{source.parent}"]
        _run([*COMPILE, *includes, "-o", str(program), str(driver), *files, "-lpthread"])
    return [str(program)]


def _started(command: Sequence[str]) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    except OSError as error:
        raise ConformanceError(f"{command[0]} cannot be started: {error}") from error


def _run(command: Sequence[str]) -> None:
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise ConformanceError(f"{command[0]} is not on PATH") from error
    if run.returncode != 0:
        raise ConformanceError(f"{command[0]} failed: {(run.stderr or run.stdout).strip()[-300:]}")


if __name__ == "__main__":
    sys.exit(main())
