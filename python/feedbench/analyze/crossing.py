"""Clients crossed with servers (E8): the cells of a run that form such a table, and what it says of whom."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from feedbench.analyze.cells import CellValues
from feedbench.analyze.decide import FEWEST_BLOCKS, Values
from feedbench.analyze.signflip import blocks_needed
from feedbench.analyze.variance import EFFECTS, Logs, effects_of, ratio_of, split
from feedbench.findings import QuestionFinding
from feedbench.findings.crossing import CrossingFinding, LevelEffect, OwnPairs
from feedbench.load import OWN
from feedbench.plan import Cell, FactorValue, Plan

CLIENT = "client"


@dataclass(frozen=True)
class _Table:
    """One crossing's cells: by (client, server), the quantile of each block."""

    clients: tuple[str, ...]
    servers: tuple[str, ...]
    values: Mapping[tuple[str, str], Values]

    def blocks(self) -> list[int]:
        """Those that hold every cell."""
        whole = [set(self.values[client, server]) for client in self.clients for server in self.servers]
        return sorted(set.intersection(*whole)) if whole else []

    def logs(self) -> Logs:
        rows = [
            [
                [math.log(max(self.values[client, server][block], 1)) for server in self.servers]
                for client in self.clients
            ]
            for block in self.blocks()
        ]
        return np.array(rows, np.float64).reshape(len(rows), len(self.clients), len(self.servers))


def find_crossings(
    plan: Plan, cells: Mapping[str, CellValues], questions: Sequence[QuestionFinding]
) -> tuple[CrossingFinding, ...]:
    """One for each declared quantile and each value of the other factors; none unless several clients drove
    several servers.
    """
    if plan.compare != "target":
        return ()
    failed = [question.id for question in questions if question.sentinel and not question.sentinel.passed]
    return tuple(
        _crossing(plan, fixed, name, _table(plan, inside, cells, name), failed)
        for fixed, inside in _groups(plan)
        for name in plan.protocol.quantiles
    )


def _groups(plan: Plan) -> Iterator[tuple[dict[str, FactorValue], list[Cell]]]:
    """The cells of each crossing. `client = "own"` is no client of its own: it is each target's by name."""
    groups: dict[str, tuple[dict[str, FactorValue], list[Cell]]] = {}
    asked = {cell for question in plan.questions for cell in question.cells}
    for cell in plan.cells:
        if cell.id in asked and _client(plan, cell) != OWN:
            fixed = {name: value for name, value in cell.factors.items() if name != CLIENT}
            groups.setdefault(repr(fixed), (fixed, []))[1].append(cell)
    for fixed, inside in groups.values():
        if len({_client(plan, cell) for cell in inside}) > 1 and len({cell.target for cell in inside}) > 1:
            yield fixed, inside


def _client(plan: Plan, cell: Cell) -> str:
    return plan.condition(cell.condition).load.client


def _table(plan: Plan, inside: Sequence[Cell], cells: Mapping[str, CellValues], name: str) -> _Table:
    clients = tuple(dict.fromkeys(_client(plan, cell) for cell in inside))
    servers = tuple(dict.fromkeys(cell.target for cell in inside))
    empty: dict[tuple[str, str], Values] = {(client, server): {} for client in clients for server in servers}
    known = {(_client(plan, cell), cell.target): cells[cell.id].quantiles[name] for cell in inside}
    return _Table(clients, servers, empty | known)


def _needed(plan: Plan) -> int:
    """Blocks before each of the effects could be shown."""
    return max(FEWEST_BLOCKS, blocks_needed(len(EFFECTS), 1 - plan.protocol.confidence))


def _without_gaps(table: _Table, needed: int) -> tuple[_Table, tuple[str, ...]]:
    """Leaves out, one by one, the client or server with the most cells that have too few blocks."""
    left_out = []
    while poor := [key for key, values in table.values.items() if len(values) < needed]:
        counts = {
            **{(0, name): sum(client == name for client, _ in poor) for name in table.clients},
            **{(1, name): sum(server == name for _, server in poor) for name in table.servers},
        }
        place, worst = max(counts, key=lambda key: (counts[key], key[0]))
        kind, gaps = ("client", "server")[place], counts[place, worst]
        left_out.append(f"{kind} {worst}: {gaps} of its cells have fewer than {needed} blocks")
        table = _Table(
            tuple(name for name in table.clients if (place, name) != (0, worst)),
            tuple(name for name in table.servers if (place, name) != (1, worst)),
            {key: values for key, values in table.values.items() if key[place] != worst},
        )
    return table, tuple(left_out)


def _crossing(
    plan: Plan, fixed: Mapping[str, FactorValue], name: str, whole: _Table, failed: Sequence[str]
) -> CrossingFinding:
    table, left_out = _without_gaps(whole, _needed(plan))
    logs = table.logs()
    withheld = _withheld(table, len(logs), _needed(plan), failed)
    told = withheld is None
    confidence = plan.protocol.confidence
    identity = ",".join(f"{key}={value}" for key, value in fixed.items()) or "all"
    return CrossingFinding(
        id=f"{identity},{name}",
        fixed=fixed,
        quantile=name,
        clients=table.clients,
        servers=table.servers,
        blocks=len(logs),
        typical_ns=_typical_ns(logs),
        parts=split(logs, confidence=confidence, seed=plan.seed) if told else (),
        client_effects=_effects(effects_of(logs).client, table.clients, confidence) if told else (),
        server_effects=_effects(effects_of(logs).server, table.servers, confidence) if told else (),
        own_pairs=tuple(_own_pairs(table, logs, confidence)) if told else (),
        left_out=left_out,
        withheld=withheld,
    )


def _withheld(table: _Table, blocks: int, needed: int, failed: Sequence[str]) -> str | None:
    if failed:
        return f"the A/A sentinel failed in {', '.join(failed)}"
    if min(len(table.clients), len(table.servers)) < 2:
        return "it takes two clients and two servers that were measured with each other"
    if blocks < needed:
        return f"{blocks} blocks hold every pairing; it takes {needed} before any part could be shown"
    return None


def _typical_ns(logs: Logs) -> tuple[tuple[float, ...], ...]:
    if not len(logs):
        return ()
    return tuple(tuple(map(float, row)) for row in np.exp(logs.mean(axis=0)))


def _effects(
    by_block: np.ndarray[tuple[int, ...], np.dtype[np.float64]], names: Sequence[str], confidence: float
) -> tuple[LevelEffect, ...]:
    return tuple(
        LevelEffect(name, *ratio_of(by_block[:, place], confidence)) for place, name in enumerate(names)
    )


def _own_pairs(table: _Table, logs: Logs, confidence: float) -> Iterator[OwnPairs]:
    """For libraries that stand on both sides. Going from one own pair to the other changes client and server;
    each one's part is the mean of what it does first and what it does last, so the two give the whole.
    """
    both = [name for name in table.clients if name in table.servers]
    for first, second in combinations(both, 2):
        clients = [table.clients.index(name) for name in (first, second)]
        servers = [table.servers.index(name) for name in (first, second)]
        cell = {(c, s): logs[:, clients[c], servers[s]] for c in (0, 1) for s in (0, 1)}
        under_first, under_second = cell[0, 0] - cell[0, 1], cell[1, 0] - cell[1, 1]
        ratio, interval = ratio_of(cell[0, 0] - cell[1, 1], confidence)
        server, server_interval = ratio_of((under_first + under_second) / 2, confidence)
        client, client_interval = ratio_of(
            (cell[0, 0] - cell[1, 0] + cell[0, 1] - cell[1, 1]) / 2, confidence
        )
        interaction, interaction_interval = ratio_of(under_first - under_second, confidence)
        yield OwnPairs(
            pair=(first, second),
            ratio=ratio,
            interval=interval,
            server=server,
            server_interval=server_interval,
            client=client,
            client_interval=client_interval,
            interaction=interaction,
            interaction_interval=interaction_interval,
        )
