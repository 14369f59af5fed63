"""Whatever is killed, no block is lost or doubled: by count, and by the hashes of what had arrived."""

from __future__ import annotations

import hashlib
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from network import Network, Program, wait_for
from test_cluster_hosts import check_block

from feedbench.paths import RunDirectory

pytestmark = pytest.mark.end_to_end

BLOCKS = 3


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def hashes(folder: Path) -> dict[str, str]:
    """Of every file below a block, by path."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


class Campaign:
    """A run on hosts: a has the scheduler, the controller and the load, b and c can have the targets."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.scheduler, self.address = network.scheduler("a")
        self.load = network.worker("a", self.address, "load")
        self.targets = {name: network.worker(name, self.address, "target") for name in "bc"}
        network.joined(self.load, *self.targets.values())
        self.run = RunDirectory(network.folder / "run")
        scenario = network.scenario(blocks=BLOCKS, measure="600ms", more="apart = true")
        self.controller = network.start(
            "a",
            *("run", str(scenario), "--out", str(self.run.path), "--cluster", self.address),
            *("--tls", str(network.tls), "--patience", "600"),
        )

    def under_way(self) -> None:
        """Returns when one block is whole, and targets of another run on hosts that it holds."""
        later = range(1, BLOCKS)
        wait_for(
            "a block under way after a whole one",
            lambda: (
                any(self.run.starts(index).exists() and not self.is_whole(index) for index in later)
                or self.controller.process.poll() is not None
            ),
        )
        assert self.controller.process.poll() is None, self.controller.said
        assert self.is_whole(0)

    def is_whole(self, index: int) -> bool:
        return (self.run.block(index) / "block.json").exists()

    def ended(self, controller: Program) -> None:
        wait_for("the end of the run", lambda: controller.process.poll() is not None)
        assert controller.process.returncode == 0, controller.said


def kill_target_host(campaign: Campaign) -> Program:
    """The host that has the targets of the block under way."""
    campaign.targets["b"].kill()
    return campaign.controller


def restart_scheduler(campaign: Campaign) -> Program:
    campaign.scheduler.kill()
    port = int(campaign.address.rpartition(":")[2])
    campaign.scheduler, address = campaign.network.scheduler("a", port=port)
    assert address == campaign.address
    return campaign.controller


def kill_controller(campaign: Campaign) -> Program:
    """With everything that it started here; then the run goes on, from its directory alone."""
    process = psutil.Process(campaign.controller.process.pid)
    victims = [process, *process.children(recursive=True)]
    for victim in victims:
        victim.send_signal(signal.SIGKILL)
    campaign.controller.process.wait()
    wait_for("all of it gone", lambda: not any(_lives(victim) for victim in victims))
    return campaign.network.start("a", "run", str(campaign.run.path))


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


VICTIMS = [
    ("a worker, mid-block", kill_target_host),
    ("the scheduler, restarted", restart_scheduler),
    ("the controller, resumed", kill_controller),
]


@pytest.mark.parametrize(("what", "kill"), VICTIMS, ids=[row[0] for row in VICTIMS])
def test_whatever_is_killed_no_block_is_lost_or_doubled(
    any_hosts: Network, what: str, kill: Callable[[Campaign], Program]
) -> None:
    campaign = Campaign(any_hosts)
    campaign.under_way()
    before = hashes(campaign.run.block(0))
    controller = kill(campaign)
    campaign.ended(controller)

    record = read(campaign.run.path / "run.json")
    assert record["blocks_done"] == list(range(BLOCKS)), (what, record)
    assert "blocks_failed" not in record
    assert hashes(campaign.run.block(0)) == before
    for index in range(BLOCKS):
        check_block(campaign.run, index)
    attempts = record.get("lost", [])
    assert [attempt["block"] for attempt in attempts] == sorted(attempt["block"] for attempt in attempts)
    if kill is kill_target_host:
        assert attempts, "a host was killed while a block was under way"
        hosts = [read(campaign.run.block(index) / "block.json")["hosts"] for index in range(BLOCKS)]
        assert (hosts[0]["target"], hosts[-1]["target"]) == ("b", "c")
    # What was cut off is kept beside, never among the blocks.
    aside = sorted(path.name for path in (campaign.run.path / "blocks").iterdir() if "." in path.name)
    assert len(aside) >= len(attempts)
