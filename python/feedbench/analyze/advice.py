"""What a reader must know of a run's quality: each kind of advice, how grave it is, and its words."""

from __future__ import annotations

from enum import Enum

from feedbench.findings import Advice
from feedbench.findings.whole import Severity


class Code(Enum):
    """Every advice that the analysis gives. The value is (severity, text); braces are filled in."""

    CLOSED_LOOP = (
        "note",
        "A closed loop waits while the server stalls, so it can't see what other messages would have waited: "
        "its tail is that of a patient client. Use a constant or Poisson rate to ask about tails.",
    )
    OWN_CLIENT = (
        "caution",
        "Each target was driven by its own client library, so client and server effects can't be told apart.",
    )
    SLEEPING_CPUS = (
        "caution",
        "CPUs were left to sleep in {rounds}: round trips there include waking them up, which can reverse an "
        "order.",
    )
    UNSLICED = (
        "caution",
        "Targets were measured one after the other, so the machine's moods do not cancel out.",
    )
    NETWORK_DEPARTS = ("warning", "The network {network} was not as asked: {departures}.")
    NO_SHIELD = ("warning", "The run was not shielded from other work on this machine.")
    NOT_PINNED = ("caution", "Engine and targets were not pinned to CPUs of their own.")
    INCOMPLETE = ("warning", "The run stopped early ({cause}): {done} of {planned} blocks were measured.")
    BUDGET = ("note", "The budget allowed {done} of {planned} blocks.")
    BLOCKS_DROPPED = (
        "caution",
        "{count} of {total} blocks were dropped in “{question}”, for their environment only.",
    )
    FEW_BLOCKS = (
        "note",
        "“{question}” has {used} blocks; it takes {needed} before every one of {pairs} pairs could come out "
        "different.",
    )
    FEW_BLOCKS_EACH = (
        "note",
        "In “{question}” a target has as few as {used} blocks; it takes {needed} before every one of {pairs} "
        "pairs could come out different.",
    )
    INCOMPLETE_BLOCKS = (
        "note",
        "Blocks of “{question}” held a choice of the targets: latencies and ratios are adjusted for that, "
        "and hold for the run's typical block.",
    )
    SENTINEL_FAILED = (
        "warning",
        "Two copies of one program came out different in “{question}”: nothing is ranked.",
    )
    CONTROL_FAILED = (
        "warning",
        "A copy delayed by a known time was not found in “{question}”: nothing is ranked.",
    )
    NO_COPIES = ("caution", "“{question}” has no {missing} and so ranks nothing.")
    GENERATOR_BOUND = (
        "caution",
        "{cells} came within reach of this machine's raw TCP loop: they show the generator as much as the "
        "target.",
    )
    IMPOSSIBLE = (
        "warning",
        "{count} results break arithmetic that any measurement obeys; they are not compared.",
    )
    OPTIONS_DIFFER = ("warning", "Compared targets do different work: {text}.")
    CUT_SHORT = ("warning", "Samples of {cells} were cut short or damaged; their whole records were used.")
    NO_STEADY_STATE = ("caution", "{cells} still changed when measuring ended.")
    SLOWDOWN = ("caution", "{cells} became slower while being measured.")
    FAILED_CELLS = ("warning", "{cells} failed in some blocks; see the causes.")
    OWN_RUN_DELAY = (
        "caution",
        "{targets} waited for a CPU more than {limit:.0%} of the time: where others did not, its own threads "
        "were in each other's way.",
    )

    @property
    def severity(self) -> Severity:
        severity: Severity = self.value[0]
        return severity


def advice(code: Code, **facts: object) -> Advice:
    """The advice with its facts filled in."""
    return Advice(code=code.name.lower(), severity=code.severity, text=code.value[1].format(**facts))
