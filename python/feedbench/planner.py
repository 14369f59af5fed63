"""From a scenario to a plan: a pure function, so the same scenario, registry and seed give the same plan.

Factors of the engine (load keys, cpus_awake) make conditions, factors of the target (knobs) make processes;
a cell is one process under one condition. What cannot be done is left out by name, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from feedbench.block_design import make_blocks
from feedbench.feed.relay import UPSTREAM_KNOB, Relay
from feedbench.feed.settings import DECODER, EXCHANGE_FACTOR, JSON, Feed, exchange_name
from feedbench.load import ENGINE, EXCHANGE, OWN, RELAY, Load
from feedbench.plan import (
    ACCESS,
    LISTENED,
    LOCAL,
    POLLED,
    Block,
    Cell,
    Condition,
    Copy,
    FactorValue,
    Host,
    Plan,
    Process,
    Question,
    Round,
    Skipped,
)
from feedbench.registry import Registry
from feedbench.scenario import TARGET, Scenario
from feedbench.spelling import in_id, spelled
from feedbench.target import BALANCER, DEBUG, DEFAULT, PROCESSES, REUSE_PORT, Target

__all__ = ["make_plan"]

# One engine call has one of each, so a round cannot mix their values even where they are what is compared.
ROUND_FACTORS = ("cpus_awake", "client", "transport")

# What a block costs besides warm-up and measuring, for the estimate: measured on two cores with quick.toml.
START_NS = 250_000_000
STOP_NS = 50_000_000
ROUND_NS = 300_000_000

Factors = Mapping[str, FactorValue]


@dataclass(frozen=True)
class _Variant:
    """A target, or a copy of one, with one value of every knob factor. Its `knobs` are passed to the process.

    `marked` are the knobs that its id names, unless they are at the manifest's default.
    """

    target: Target
    copy: Copy | None
    factors: Factors
    knobs: Mapping[str, str]
    marked: Mapping[str, str]

    @property
    def id(self) -> str:
        marks = [f"{knob}={in_id(value)}" for knob, value in self.marked.items()]
        return "~".join([self.target.id, *marks, *([self.copy] if self.copy else [])])


def make_plan(
    scenario: Scenario,
    registry: Registry,
    *,
    seed: int | None = None,
    host: Host = LOCAL,
    loaders: Sequence[Host] = (),
) -> Plan:
    """`seed` None takes the scenario's. Targets that are missing, failed to build or on hold are skipped.

    Every process is on `host`, since all are compared; the load comes from `loaders`, or from there, too.
    """
    chosen_seed = scenario.seed if seed is None else seed
    conditions = _conditions(scenario)
    usable, skipped = _usable(scenario, registry)
    copies, stand_ins = _copies(scenario, registry, usable)
    variants, without_knob = _variants(scenario, registry, usable, copies)
    possible, without_client = _cells(scenario, variants, conditions, registry)
    cells, alone = _comparable(scenario, possible)
    # An exchange has one of everything, so each of its conditions is a round.
    separate = ROUND_FACTORS if scenario.feed is None else scenario.engine_factors
    rounds = _rounds(cells, conditions, compare=scenario.compare, separate=separate)
    processes = _used(variants, cells, host)
    blocks = make_blocks(
        scenario.protocol.blocks,
        chosen_seed,
        processes=processes,
        cells=cells,
        rounds=rounds,
        always={scenario.reference, *(name for name, _ in copies)},
        per_block=scenario.protocol.per_block,
    )
    return Plan(
        scenario=scenario.name,
        title=scenario.title,
        question=scenario.question,
        analysis=scenario.analysis,
        pages=scenario.pages,
        seed=chosen_seed,
        compare=scenario.compare,
        reference=scenario.reference,
        budget_ns=scenario.budget_ns,
        hosts=tuple({each.name: each for each in (host, *loaders)}.values()),
        processes=processes,
        conditions=conditions,
        cells=cells,
        rounds=rounds,
        questions=_questions(scenario, cells),
        blocks=blocks,
        skipped=(*skipped, *stand_ins, *without_knob, *without_client, *alone),
        protocol=scenario.protocol,
        gates=scenario.gates,
        expect=scenario.expect,
        estimate_ns=_estimate_ns(scenario, blocks, cells),
        loaders=tuple(loader.name for loader in loaders) or (host.name,),
    )


def _conditions(scenario: Scenario) -> tuple[Condition, ...]:
    conditions = []
    for factors in _combinations(scenario, scenario.engine_factors):
        conditions.append(
            Condition(
                id=_factors_id(factors),
                factors=factors,
                cpus_awake=bool(factors.get("cpus_awake", scenario.protocol.cpus_awake)),
                load=_load(scenario, factors),
            )
        )
    return tuple(conditions)


def _load(scenario: Scenario, factors: Factors) -> Load:
    if scenario.feed is None:
        return Load.from_settings({name: factors.get(name, value) for name, value in scenario.load.items()})
    exchanges = {exchange_name(exchange): exchange for exchange in scenario.feed["exchanges"]}
    exchange = exchanges[str(factors.get(EXCHANGE_FACTOR, next(iter(exchanges))))]
    relay = None if scenario.relay is None else Relay.from_settings({**scenario.relay, **factors})
    return Load.of_feed(Feed.from_settings({**scenario.feed, **exchange, **factors}, exchange, relay))


def _combinations(scenario: Scenario, names: Sequence[str]) -> list[dict[str, FactorValue]]:
    """Every combination, the last factor turning fastest; one empty combination when there are no factors."""
    return [
        dict(zip(names, values, strict=True))
        for values in product(*(scenario.factors[name] for name in names))
    ]


def _usable(scenario: Scenario, registry: Registry) -> tuple[set[str], list[Skipped]]:
    """The targets that can run here, and why the others, and those that the scenario excludes, cannot."""
    wanted = dict.fromkeys([*scenario.targets, scenario.sentinel])
    if scenario.control is not None:
        wanted[scenario.control.target] = None
    usable: set[str] = set()
    skipped = [
        Skipped(None, excluded.target, f"excluded: {excluded.reason}") for excluded in scenario.excluded
    ]
    for name in wanted:
        target, state = registry.get(name), registry.states[name]
        if target.on_hold:
            skipped.append(Skipped(None, name, f"on hold: {target.reason}"))
        elif state.state in ("missing", "failed"):
            skipped.append(Skipped(None, name, state.reason or state.state))
        else:
            usable.add(name)
    return usable, skipped


def _copies(
    scenario: Scenario, registry: Registry, usable: set[str]
) -> tuple[list[tuple[str, Copy]], list[Skipped]]:
    """What sentinel and control are copies of.

    Where the scenario's choice is not on this machine another of its targets stands in, by name: without the
    two nothing could be ranked, and any program can be compared with itself.
    """
    wanted: list[tuple[str, Copy]] = [(scenario.sentinel, "sentinel")]
    if scenario.control is not None:
        wanted.append((scenario.control.target, "control"))
    chosen = {name for name, _ in wanted}
    copies: list[tuple[str, Copy]] = []
    stand_ins = []
    for name, copy in wanted:
        able = [
            other
            for other in sorted(scenario.targets, key=lambda other: other in chosen)
            if other in usable and (copy == "sentinel" or "delay_ns" in registry.get(other).knobs)
        ]
        if name not in usable and able:
            stand_ins.append(Skipped(None, name, f"not here, so the {copy} is a copy of {able[0]} instead"))
            copies.append((able[0], copy))
        else:
            copies.append((name, copy))
    return copies, stand_ins


def _variants(
    scenario: Scenario, registry: Registry, usable: set[str], copies: Sequence[tuple[str, Copy]]
) -> tuple[list[_Variant], list[Skipped]]:
    """Every process that might be started, the originals of sentinel and control among them."""
    names = dict.fromkeys([*scenario.targets, *(name for name, _ in copies)])
    variants: list[_Variant] = []
    skipped: list[Skipped] = []
    for name, copy in [*((name, None) for name in names), *copies]:
        if name not in usable:
            continue
        made = []
        for factors in _combinations(scenario, scenario.knob_factors):
            variant = _variant(scenario, registry, registry.get(name), copy, factors)
            if isinstance(variant, Skipped):
                skipped.append(variant)
            else:
                made.append(variant)
        if name not in scenario.targets:
            made = made[:1]
        elif copy is not None:
            # It repeats one process, not each: the first whose original there is.
            originals = [(variant.target, variant.factors) for variant in variants]
            made = [variant for variant in made if (variant.target, variant.factors) in originals][:1]
        variants += made
    return variants, skipped


def _variant(
    scenario: Scenario, registry: Registry, target: Target, copy: Copy | None, factors: Factors
) -> _Variant | Skipped:
    """One process with these knob factors, or why the target cannot be had so."""
    knobs = _knobs(scenario, target, factors)
    marked = {}
    for knob, value in {
        **scenario.knobs,
        **{name: spelled(factor) for name, factor in factors.items()},
    }.items():
        usual = target.knobs[knob][0] if knob in target.knobs else target.options.get(knob, value)
        # Where "default" (left unset) is a value too, the default's own value needs an id of its own.
        if value != DEFAULT and (value != usual or DEFAULT in scenario.factors.get(knob, ())):
            marked[knob] = value
    if copy == "control" and scenario.control is not None:
        knobs["delay_ns"] = str(scenario.control.delay_ns)
    if target.build_mode(knobs) == DEBUG and target.name in registry.debug_failures:
        return Skipped(None, target.name, f"its debug build failed: {registry.debug_failures[target.name]}")
    if (lack := _launch_lack(target, knobs)) is not None:
        return Skipped(None, target.name, lack)
    for knob, value in knobs.items():
        if not target.takes(knob, value):
            lack = f"does not take {knob} = {value}" if knob in target.knobs else f"has no knob {knob}"
            role = f"as {copy}, " if copy else ""
            return Skipped(None, target.name, f"{role}with {knob} = {value}: it {lack}")
    return _Variant(target, copy, factors, knobs, marked)


def _launch_lack(target: Target, knobs: Mapping[str, str]) -> str | None:
    """Why so many processes of it can't serve one address; None when they can."""
    several = knobs.get(PROCESSES, "1") != "1" and knobs.get(BALANCER, "none") == "none"
    if several and not target.takes(REUSE_PORT, "on"):
        return f"with {PROCESSES} = {knobs[PROCESSES]}: it has no knob {REUSE_PORT}"
    return None


def _knobs(scenario: Scenario, target: Target, factors: Factors) -> dict[str, str]:
    """The knobs to set: those held, where the target has them, and the varied ones."""
    knobs = {knob: value for knob, value in scenario.knobs.items() if knob in target.knobs}
    for knob, value in factors.items():
        # Without the knob a target still has the value that it is built with, and one that only lends itself
        # as sentinel or control, unranked, may do without.
        has_it_anyway = target.options.get(knob) == spelled(value) or target.name not in scenario.targets
        if knob in target.knobs or not has_it_anyway:
            knobs[knob] = spelled(value)
    return {knob: value for knob, value in knobs.items() if value != DEFAULT}


def _cells(
    scenario: Scenario, variants: list[_Variant], conditions: Sequence[Condition], registry: Registry
) -> tuple[tuple[Cell, ...], list[Skipped]]:
    cells, skipped = [], []
    for variant, condition in product(variants, conditions):
        cell_id = f"{variant.id}+{condition.id}"
        lack = _lack(variant.target, condition.load, registry)
        if lack is not None:
            skipped.append(Skipped(cell_id, variant.target.name, lack))
            continue
        every = {**variant.factors, **condition.factors}
        cells.append(
            Cell(
                id=cell_id,
                process=variant.id,
                condition=condition.id,
                target=variant.target.name,
                copy=variant.copy,
                factors={name: every[name] for name in scenario.factors},
            )
        )
    return _with_access(cells, conditions, registry), skipped


def _with_access(
    cells: Sequence[Cell], conditions: Sequence[Condition], registry: Registry
) -> tuple[Cell, ...]:
    """The cells of a feed with how each comes by events, where they do it differently."""
    loads = {condition.id: condition.load for condition in conditions}
    found = {
        cell.id: _access(registry.get(cell.target), loads[cell.condition])
        for cell in cells
        if loads[cell.condition].feed is not None
    }
    if len(set(found.values())) < 2:
        return tuple(cells)
    return tuple(replace(cell, factors={**cell.factors, ACCESS: found[cell.id]}) for cell in cells)


def _comparable(scenario: Scenario, cells: Sequence[Cell]) -> tuple[tuple[Cell, ...], list[Skipped]]:
    """Without cells that have nothing to be compared with; those that a copy is held against stay."""
    groups = _groups(scenario, cells)
    copied = [(cell.target, cell.factors) for cell in cells if cell.copy is not None]
    alone = {
        inside[0].id
        for _, inside in groups.values()
        # A client that follows one of the exchanges compared is beside the others all the same (Doors).
        if scenario.compare not in (TARGET, EXCHANGE_FACTOR)
        and len(inside) == 1
        and (inside[0].target, inside[0].factors) not in copied
    }
    reason = f"nothing to compare it with: it has no other {scenario.compare} here"
    return (
        tuple(cell for cell in cells if cell.id not in alone),
        [Skipped(cell.id, cell.target, reason) for cell in cells if cell.id in alone],
    )


def _lack(target: Target, load: Load, registry: Registry) -> str | None:
    """Why this load cannot be put on this target; None when it can."""
    if load.client == EXCHANGE:
        return _feed_lack(target, load)
    if load.client == RELAY:
        return _relay_lack(target, load)
    model = load.path.strip("/")
    if model in ("echo", "stamp", "feed") and model not in target.models:
        return f"it does not serve /{model}"
    if load.client == OWN and target.echo_client_command is None:
        return "it has no echo client of its own"
    if load.client not in (ENGINE, OWN):
        state = registry.states[load.client]
        if state.state in ("missing", "failed"):
            return f"its client {load.client} cannot be used: {state.reason}"
    return None


def _feed_lack(target: Target, load: Load) -> str | None:
    if not target.doors:
        return "it is no feed client"
    if load.feed is None:
        return None
    door = load.feed.door_of(target.doors)
    if door is None:
        return f"{load.feed.exchange} has no door that it uses ({', '.join(target.doors)})"
    if load.feed.tls and door == "ws" and "wss" not in target.speaks:
        return "it does not speak wss"
    decoder = load.feed.decoder
    if door == "ws" and decoder != JSON and not target.takes(DECODER, decoder):
        return f"it decodes no {decoder}"
    offers = "on" in (target.options.get("deflate"), *target.knobs.get("deflate", ()))
    if door == "ws" and load.feed.compression != "off" and not offers:
        return "it does no permessage-deflate"
    return None


def _access(target: Target, load: Load) -> str:
    """How a client comes by events: ages of what is told on asking are another quantity (METHODOLOGY.md)."""
    assert load.feed is not None, "the plan is of feeds"
    return POLLED if load.feed.door_of(target.doors) == "rest" else LISTENED


_UPSTREAM_LACKS: Mapping[str, str] = {
    "one": 'it connects to the exchange once for each client: it takes upstream = "per-client" alone',
    "per-client": 'it connects to the exchange once for all clients: it takes upstream = "one" alone',
}


def _relay_lack(target: Target, load: Load) -> str | None:
    assert load.feed is not None
    assert load.feed.relay is not None
    upstream = load.feed.relay.upstream
    if target.relay_command is None:
        return "it is no relay"
    if not target.takes("upstream", UPSTREAM_KNOB[upstream]):
        return _UPSTREAM_LACKS[upstream]
    return None


def _rounds(
    cells: Sequence[Cell], conditions: Sequence[Condition], *, compare: str, separate: Sequence[str]
) -> tuple[Round, ...]:
    """Cells that agree in every engine-side factor but the compared one, where a round can hold that: the
    values of a `separate` factor lie in rounds of their own.
    """
    by_condition = {condition.id: condition for condition in conditions}
    members: dict[str, list[Cell]] = {}
    for cell in cells:
        factors = by_condition[cell.condition].factors
        kept = {name: value for name, value in factors.items() if name != compare or name in separate}
        members.setdefault(_factors_id(kept), []).append(cell)
    rounds = []
    for round_id, inside in members.items():
        condition = by_condition[inside[0].condition]
        rounds.append(
            Round(
                id=round_id,
                cells=tuple(cell.id for cell in inside),
                cpus_awake=condition.cpus_awake,
                client=condition.load.client,
            )
        )
    return tuple(rounds)


def _questions(scenario: Scenario, cells: Sequence[Cell]) -> tuple[Question, ...]:
    """One for each combination of what is not compared."""
    return tuple(
        Question(
            id=question_id,
            text=_question_text(scenario.question, fixed),
            fixed=fixed,
            compare=scenario.compare,
            cells=tuple(cell.id for cell in inside),
            sentinel=_pair("sentinel", scenario, fixed, cells),
            control=_pair("control", scenario, fixed, cells),
        )
        for question_id, (fixed, inside) in _groups(scenario, cells).items()
    )


def _groups(
    scenario: Scenario, cells: Sequence[Cell]
) -> dict[str, tuple[dict[str, FactorValue], list[Cell]]]:
    """What is compared with each other, by what is fixed; only the scenario's own targets are ranked."""
    groups: dict[str, tuple[dict[str, FactorValue], list[Cell]]] = {}
    for cell in cells:
        if cell.copy is not None or cell.target not in scenario.targets:
            continue
        fixed = {name: value for name, value in cell.factors.items() if name != scenario.compare}
        if scenario.compare != TARGET:
            fixed = {TARGET: cell.target, **fixed}
        groups.setdefault(_factors_id(fixed), (fixed, []))[1].append(cell)
    return groups


def _pair(copy: Copy, scenario: Scenario, fixed: Factors, cells: Sequence[Cell]) -> tuple[str, str] | None:
    """The original and its copy from the question's rounds; None when either could not be had there."""
    for candidate in cells:
        if candidate.copy != copy:
            continue
        shared = [*scenario.engine_factors, ACCESS]
        if any(candidate.factors[name] != fixed[name] for name in shared if name in fixed):
            continue
        for original in cells:
            same = original.target == candidate.target and original.factors == candidate.factors
            if same and original.copy is None:
                return original.id, candidate.id
    return None


def _question_text(question: str, fixed: Factors) -> str:
    told = ", ".join(f"{name} = {spelled(value)}" for name, value in fixed.items())
    return f"{question} ({told})" if told else question


def _used(variants: list[_Variant], cells: Sequence[Cell], host: Host) -> tuple[Process, ...]:
    serving = {cell.process for cell in cells}
    return tuple(
        Process(
            id=variant.id,
            target=variant.target.name,
            copy=variant.copy,
            knobs=dict(variant.knobs),
            host=host.name,
        )
        for variant in variants
        if variant.id in serving
    )


def _estimate_ns(scenario: Scenario, blocks: Sequence[Block], cells: Sequence[Cell]) -> int:
    """How long all blocks take together."""
    each_ns = scenario.protocol.warmup_ns + scenario.protocol.measure_ns
    total_ns = 0
    for block in blocks:
        started = set(block.start_order)
        total_ns += sum(cell.process in started for cell in cells) * each_ns
        total_ns += len(block.start_order) * (START_NS + STOP_NS) + len(block.round_order) * ROUND_NS
    return total_ns


def _factors_id(factors: Factors) -> str:
    return ",".join(f"{name}={in_id(value)}" for name, value in factors.items()) or "all"
