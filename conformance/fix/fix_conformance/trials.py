"""`python -m fix_conformance.trials`: FIX engines from the registries, unmodified, against ours.

Each initiator logs on, subscribes (V), gets W and X while the exchange leaves out one message in fifty,
asks for what is missing, and logs out. What it handed to its application must be, message by message and
without a gap, what the exchange's ledger says was sent to it. The other way round, our client subscribes at
an acceptor whose numbers make a leap.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from exchange_conformance.errors import ConformanceError
from exchange_conformance.exchange import default_command, serving
from exchange_conformance.install import install
from exchange_conformance.ledger import Ledger, read_ledger

CHECKOUT = Path(__file__).parent.parent.parent.parent
ENGINES = Path(__file__).parent.parent / "engines"
PACKAGES = CHECKOUT / ".feedbench" / "conformance" / "packages"
STREAMS = ("standard fix BTC/USD trades", "standard fix BTC/USD book")
ENTRY_TAGS = ("279", "269", "278", "55", "270", "271", "272", "273")
"""In the order in which the exchange writes them; engines keep them in an order of their own."""
GAP_EVERY = 50
GAP_FAULT = 1
DEADLINE_S = 120
Key = tuple[int, int]
Claim = dict[str, Any]


@dataclass(frozen=True)
class Verdict:
    """What became of a trial."""

    name: str
    messages: int
    complaint: str | None

    def to_json(self) -> dict[str, str | int | None]:
        """For `--json`."""
        status = "failed" if self.complaint else "passed"
        return {
            "trial": self.name,
            "verdict": status,
            "messages": self.messages,
            "complaint": self.complaint,
        }


def main() -> int:
    """0 if all trials passed, 1 if one failed or nothing could be run."""
    parser = argparse.ArgumentParser(
        prog="fix_conformance.trials", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("filters", nargs="*", metavar="FILTER", help="parts of names: quickfixj")
    parser.add_argument("--list", action="store_true", help="show the trials and end")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    parser.add_argument("--messages", type=int, default=1000, help="messages that each engine must receive")
    options = parser.parse_args()
    chosen = [name for name in TRIALS if not options.filters or any(one in name for one in options.filters)]
    if options.list:
        print("\n".join(chosen))
        return 0
    verdicts = [_verdict(name, options.messages) for name in chosen]
    if options.json:
        print(json.dumps({"schema": 1, "trials": [verdict.to_json() for verdict in verdicts]}))
    else:
        for verdict in verdicts:
            print(f"{'FAIL' if verdict.complaint else 'pass'}  {verdict.name}: {verdict.messages} messages")
            if verdict.complaint:
                print(f"      {verdict.complaint}")
    return int(any(verdict.complaint for verdict in verdicts))


def _verdict(name: str, wanted: int) -> Verdict:
    try:
        return Verdict(name, TRIALS[name](wanted), None)
    except ConformanceError as error:
        return Verdict(name, 0, str(error))


def python_command() -> list[str]:
    """QuickFIX's Python package; the registry has its source alone: the first time takes minutes."""
    folder = ENGINES / "python" / "quickfix"
    return install([folder], PACKAGES, lambda line: print(line, file=sys.stderr))[folder].command


def java_command() -> list[str]:
    """QuickFIX/J from Maven Central."""
    folder = ENGINES / "java" / "quickfixj"
    sources = (folder / "pom.xml", folder / "Driver.java")
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    target = PACKAGES / f"java-quickfixj-{digest}"
    command = ["java", "-cp", f"{target}/classes:{target}/jars/*", "Driver"]
    if (target / "installed").exists():
        return command
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for source in sources:
        shutil.copyfile(source, target / source.name)
    jars = f"-DoutputDirectory={target}/jars"
    _run(["mvn", "-q", "-B", "-f", str(target / "pom.xml"), "dependency:copy-dependencies", jars])
    _run(["javac", "-cp", f"{target}/jars/*", "-d", f"{target}/classes", str(target / "Driver.java")])
    (target / "installed").touch()
    return command


def _run(command: Sequence[str]) -> str:
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise ConformanceError(f"{command[0]} is not on PATH") from error
    if run.returncode != 0:
        said = (run.stderr or run.stdout).strip().splitlines()[-1:]
        raise ConformanceError(f"{command[0]} ended with status {run.returncode}: {' '.join(said)}")
    return run.stdout


def initiator(command: Callable[[int, int], list[str]], wanted: int) -> int:
    """Lets an engine subscribe at the exchange; ConformanceError if it got otherwise than it was sent."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger"
        arguments = ["--personality", "binance", "--fix", "--symbols", "1", "--rate", "1000", "--seed", "7"]
        arguments += ["--fault", f"gap:every={GAP_EVERY}", "--ledger", str(ledger)]
        with serving(default_command(CHECKOUT), arguments, log=Path(folder) / "log") as urls:
            address = urlsplit(urls["standard"]["fix"])
            claims = read_claims(_run(command(address.port or 0, wanted)))
        judge(claims, read_ledger(ledger), wanted)
    return wanted


def read_claims(text: str) -> list[Claim]:
    """The JSON lines of a driver."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def judge(claims: Sequence[Claim], ledger: Ledger, wanted: int) -> None:
    """ConformanceError unless the engine got a run of what was sent, gaps filled, and all else went well."""
    got = [body_key(claim["entries"]) for claim in claims if claim["kind"] == "X"]
    end = claims[-1] if claims else {}
    if end.get("kind") != "end" or not end["logged_on"] or not end["logged_out"]:
        raise ConformanceError(f"the session did not go from logon to logout: {end}")
    if end["rejects"] or end["snapshots"] != 1:
        raise ConformanceError(f"one snapshot and no reject should have come: {end}")
    if len(got) != wanted:
        raise ConformanceError(f"{len(got)} messages came, not {wanted}")
    streams = {number for number, name in ledger.names.items() if name in STREAMS}
    for connection in {sent.connection for sent in ledger.messages}:
        sent = [one for one in ledger.messages if one.connection == connection and one.stream in streams]
        keys = [one.key for one in sent]
        for start in (index for index, key in enumerate(keys) if key == got[0]):
            if keys[start : start + wanted] == got:
                gaps = sum(one.fault == GAP_FAULT for one in sent[start : start + wanted])
                if gaps == 0 or end["resend_requests"] == 0:
                    raise ConformanceError(f"no gap was forced: {gaps} gaps, {end}")
                return
    raise ConformanceError("what came is not, message by message, what the ledger says was sent")


def body_key(entries: Sequence[dict[str, str]]) -> Key:
    """Length and CRC-32 of the payload that the ledger knows: the fields from NoMDEntries on."""
    fields = [f"268={len(entries)}"]
    for entry in entries:
        fields += [f"{tag}={entry[tag]}" for tag in ENTRY_TAGS if tag in entry]
    payload = "".join(f"{field}\x01" for field in fields).encode()
    return len(payload), zlib.crc32(payload)


def acceptor(wanted: int) -> int:
    """Lets our client subscribe at QuickFIX's acceptor, whose numbers make a leap."""
    client = our_client()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*python_command(), "acceptor", "--port", str(port), "--messages", str(wanted)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as engine, ThreadPoolExecutor() as pool:
        assert engine.stdout is not None
        try:
            if json.loads(engine.stdout.readline() or "{}").get("kind") != "ready":
                raise ConformanceError("the acceptor did not start")
            # Read all the time: an engine whose pipe is full stands still.
            rest = pool.submit(engine.stdout.read)
            ours = read_claims(
                _run([*client, f"127.0.0.1:{port}", "CLIENT", "QFPYTHON", "BTC/USD", str(wanted)])
            )
            told = read_claims(rest.result(DEADLINE_S))
        finally:
            engine.kill()
    sent = [claim["entries"][0]["270"] for claim in told if claim["kind"] == "X"]
    got = [claim["price"] for claim in ours if claim["kind"] == "X"]
    if got != sent or len(sent) != wanted:
        raise ConformanceError(f"of {len(sent)} messages {len(got)} came, or not in their order")
    if ours[-1]["gaps"] != 1 or not ours[-1]["logged_out"]:
        raise ConformanceError(f"one gap and a logout should have been seen: {ours[-1]}")
    if told[-1]["resend_requests"] != 1 or told[-1]["rejects"] or not told[-1]["logged_out"]:
        raise ConformanceError(f"the acceptor saw it otherwise: {told[-1]}")
    return wanted


def our_client() -> list[str]:
    """`FEEDBENCH_FIX_INITIATOR` (a program) or this checkout's build of the example."""
    given = os.environ.get("FEEDBENCH_FIX_INITIATOR")
    builds = [CHECKOUT / "target" / mode / "examples" / "fix_initiator" for mode in ("release", "debug")]
    programs = [Path(given)] if given else builds
    program = next((program for program in programs if program.exists()), None)
    if program is None:
        raise ConformanceError(f"{programs[0]} is not there: `make conformance` builds it")
    return [str(program)]


def _python_initiator(wanted: int) -> int:
    python = python_command()
    deadline = ["--deadline-s", str(DEADLINE_S)]

    def command(port: int, messages: int) -> list[str]:
        return [*python, "initiator", "--port", str(port), "--messages", str(messages), *deadline]

    return initiator(command, wanted)


def _java_initiator(wanted: int) -> int:
    java = java_command()
    return initiator(lambda port, messages: [*java, str(port), str(messages), str(DEADLINE_S)], wanted)


TRIALS: dict[str, Callable[[int], int]] = {
    "quickfix initiator": _python_initiator,
    "quickfixj initiator": _java_initiator,
    "quickfix acceptor": acceptor,
}

if __name__ == "__main__":
    sys.exit(main())
