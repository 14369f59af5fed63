"""What a schema cannot say of a scenario: names that must exist, values that must fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from feedbench.document import Problem, TomlDocument, value_problems
from feedbench.feed.received import SUFFIXES
from feedbench.feed.relay import RELAY_DEFAULTS
from feedbench.feed.settings import EXCHANGE_FACTOR, FEED_DEFAULTS, exchange_name, open_doors
from feedbench.load import ENGINE, LOAD_DEFAULTS, OWN, STAMP, STAMP_PATH
from feedbench.network_path import NO_PATH, PathShape
from feedbench.registry import Registry
from feedbench.spelling import in_id, spelled
from feedbench.suggest import nearest
from feedbench.target import DEFAULT, PROCESSES, REUSE_PORT, Target
from feedbench.toml_lines import KeyPath
from feedbench.units import parse_duration

# The keys that each pacer reads; stating another has no effect, which nobody means.
PACER_KEYS = {
    "closed": {"in_flight"},
    "burst": {"burst", "interval"},
    "constant": {"rate"},
    "poisson": {"rate"},
}

Content = Mapping[str, Any]


def problems(
    document: TomlDocument, *, registry: Registry, stated: Mapping[str, set[str]]
) -> Iterator[Problem]:
    """Complaints about a scenario whose schema is right. `stated` are the keys written in each table."""
    content = document.content
    yield from _target_problems(content, registry)
    targets = chosen(content, registry)
    yield from _role_problems(content, targets)
    yield from _factor_name_problems(content, targets, stated)
    yield from _factor_value_problems(content, targets)
    yield from _knob_problems(content, targets)
    if "relay" in content:
        yield from _relay_problems(content)
    if "feed" in content:
        yield from _feed_problems(content, targets, stated)
    else:
        yield from _pacer_problems(content, stated)
        yield from _client_problems(content, registry)
        yield from _payload_problems(content, document.path.resolve().parent)
        yield from _fragment_problems(content)
    yield from _protocol_problems(content)


def _target_problems(content: Content, registry: Registry) -> Iterator[Problem]:
    named: list[tuple[KeyPath, str]] = [
        (("targets", index), name) for index, name in enumerate(content["targets"])
    ]
    named += [(("exclude", index), entry["target"]) for index, entry in enumerate(content["exclude"])]
    for path, pattern in named:
        if pattern in registry.broken:
            yield Problem(path, f'"{pattern}" can\'t be used: {registry.broken[pattern]}')
        elif not registry.matching(pattern):
            kind = "no target matches" if any(sign in pattern for sign in "*?[") else "there is no target"
            yield Problem(path, f'{kind} "{pattern}"', nearest(pattern, registry.names()))
    singles: dict[KeyPath, str | None] = {
        ("reference",): content.get("reference"),
        ("sentinel", "target"): content.get("sentinel", {}).get("target"),
        ("control", "target"): content.get("control", {}).get("target"),
    }
    for path, name in singles.items():
        if name is not None and name not in registry.names():
            yield Problem(path, f'there is no target "{name}"', nearest(name, registry.names()))


def chosen(content: Content, registry: Registry) -> list[Target]:
    """The scenario's targets, each once, in its order; of what a glob matches only those that it can be asked
    of: servers, or feed clients, and where a knob is compared, those that take its values.
    """
    left_out = {target.name for entry in content["exclude"] for target in registry.matching(entry["target"])}
    compare = content["compare"]
    values = [spelled(value) for value in content["factors"].get(compare, ())]
    is_knob = compare not in _condition_keys(content) and any(
        compare in target.knobs for target in registry.targets
    )
    found: dict[str, Target] = {}
    for pattern in content["targets"]:
        for target in registry.matching(pattern):
            able = _has_role(content, target) and (not is_knob or _varies(target, compare, values))
            if target.name == pattern or able:
                found[target.name] = target
    return [target for name, target in found.items() if name not in left_out]


def _has_role(content: Content, target: Target) -> bool:
    if "relay" in content:
        return target.relay_command is not None
    if "feed" in content:
        return not open_doors(content["feed"]["exchanges"]).isdisjoint(target.doors)
    return "server" in target.roles


def _condition_keys(content: Content) -> set[str]:
    """What of the exchange and of relays' use can be varied."""
    return {*(FEED_DEFAULTS if "feed" in content else ()), *(RELAY_DEFAULTS if "relay" in content else ())}


def _varies(target: Target, knob: str, values: list[str]) -> bool:
    needed = REUSE_PORT if knob == PROCESSES else knob
    return needed in target.knobs and all(value == DEFAULT or target.takes(knob, value) for value in values)


def _role_problems(content: Content, chosen: list[Target]) -> Iterator[Problem]:
    names = [target.name for target in chosen]
    role = _role_wanted(content)
    if "feed" in content and not open_doors(content["feed"]["exchanges"]):
        return  # nobody could have this role, which is told of the exchange
    if not names:
        yield Problem(
            ("targets",),
            f"no target is left: all are excluded, no {role}s, or don't take the values compared",
            "leave one in",
        )
        return
    for target in chosen:
        if not _has_role(content, target):
            yield Problem(
                ("targets",), f'"{target.name}" is no {role}', f"only {role}s can be measured this way"
            )
    reference = content.get("reference")
    if reference is not None and reference not in names:
        yield Problem(
            ("reference",), f'the reference "{reference}" is not among the targets', nearest(reference, names)
        )


def _factor_name_problems(
    content: Content, chosen: list[Target], stated: Mapping[str, set[str]]
) -> Iterator[Problem]:
    knobs = {knob for target in chosen for knob in target.knobs}
    known = {*(_condition_keys(content) or LOAD_DEFAULTS), "cpus_awake", *knobs}
    for name in content["factors"]:
        if name not in known:
            yield Problem(("factors", name), f'unknown factor "{name}"', nearest(name, known))
        for table, keys in stated.items():
            if name in keys and (table != "protocol" or name == "cpus_awake"):
                yield Problem((table, name), f'"{name}" stands in [{table}] and in [factors]', "say it once")
    compare = content["compare"]
    varied_exchange = compare == EXCHANGE_FACTOR and len(content.get("feed", {}).get("exchanges", ())) > 1
    if compare != "target" and compare not in content["factors"] and not varied_exchange:
        yield Problem(
            ("compare",),
            f'compare = "{compare}" is not a factor',
            nearest(compare, ["target", *content["factors"]]),
        )


def _factor_value_problems(content: Content, chosen: list[Target]) -> Iterator[Problem]:
    for name, values in content["factors"].items():
        ids = [in_id(value) for value in values]
        for index, one in enumerate(ids):
            if one in ids[:index]:
                yield Problem(
                    ("factors", name, index), f'two values would both be called "{one}"', "name one"
                )
        for index, value in enumerate(values):
            path = ("factors", name, index)
            if "relay" in content and name in RELAY_DEFAULTS:
                yield from value_problems("scenario", ("relay", name), value, path=path)
            elif "feed" in content and name in FEED_DEFAULTS:
                yield from value_problems("scenario", ("feed", name), value, path=path)
            elif name in LOAD_DEFAULTS:
                yield from value_problems("scenario", ("load", name), value, path=path)
            elif name == "cpus_awake":
                yield from value_problems("scenario", ("protocol", name), value, path=path)
            else:
                yield from _knob_value_problems(name, value, chosen, path)


def _knob_problems(content: Content, chosen: list[Target]) -> Iterator[Problem]:
    known = {knob for target in chosen for knob in target.knobs}
    for name, value in content["knobs"].items():
        if name not in known:
            yield Problem(("knobs", name), f'no target here has the knob "{name}"', nearest(name, known))
        else:
            yield from _knob_value_problems(name, value, chosen, ("knobs", name))


def _knob_value_problems(
    name: str, value: Any, chosen: list[Target], path: tuple[str | int, ...]
) -> Iterator[Problem]:
    text = spelled(value)
    owners = [target for target in chosen if name in target.knobs]
    if owners and text != DEFAULT and not any(target.takes(name, text) for target in owners):
        allowed = {DEFAULT, *(allowed for target in owners for allowed in target.knobs[name])}
        yield Problem(path, f'no target here takes {name} = "{text}"', nearest(text, allowed))


def _role_wanted(content: Content) -> str:
    """In words, for what can't be measured this way."""
    if "relay" in content:
        return "relay"
    if "feed" not in content:
        return "server"
    words = {"ws": "feed client", "fix": "FIX client", "rest": "poller"}
    doors = open_doors(content["feed"]["exchanges"])
    return " or ".join(word for door, word in words.items() if door in doors) or "feed client"


def _door_problems(
    index: int, exchange: Mapping[str, Any], content: Content, chosen: list[Target]
) -> Iterator[Problem]:
    """An exchange has a door; what polls tell is known from what others listen to on the same market."""
    at: tuple[str | int, ...] = ("feed", "exchanges", index)
    doors = open_doors([exchange])
    if not doors:
        yield Problem(at, "no door of this exchange is open", 'say path = "…", fix = "…" or rest = "…"')
    if "subscribe" in exchange and "ws" not in doors:
        yield Problem((*at, "subscribe"), "nobody subscribes: no WebSocket is open", 'say path = "…"')
    if ("rest" in exchange) != ("newest" in exchange):
        yield Problem(
            at, "what polls tell needs both", "say rest, and newest: the number's key in the answer"
        )
    listening = doors - {"rest"}
    if "rest" in doors and all(listening.isdisjoint(target.doors) for target in chosen):
        yield Problem(
            (*at, "rest"),
            "nobody here listens, and the ledger tells births of what somebody listens to",
            "leave a feed client or a FIX client in",
        )


def _feed_problems(
    content: Content, chosen: list[Target], stated: Mapping[str, set[str]]
) -> Iterator[Problem]:
    """Exchanges must be told apart; a record is what a feed client is measured by."""
    for key in sorted(stated["load"]):
        yield Problem(("load", key), "an exchange drives feed clients, not the engine", "leave [load] out")
    designs = content["factors"].get("design", [content["feed"]["design"]])
    if "in-turn" in designs and "relay" not in content:
        yield Problem(("feed", "design"), "only relays are measured in turn", 'design = "sliced"')
    names: list[str] = []
    for index, exchange in enumerate(content["feed"]["exchanges"]):
        name = exchange_name(exchange)
        if name in names:
            yield Problem(("feed", "exchanges", index), f'two exchanges are called "{name}"', "add name = …")
        names.append(name)
        for key in exchange:
            if key in content["factors"]:
                yield Problem(
                    ("feed", "exchanges", index, key), f'"{key}" stands here and in [factors]', "say it once"
                )
        yield from _door_problems(index, exchange, content, chosen)
    yield from _network_problems(content)
    for table, sinks in (
        ("knobs", [content["knobs"].get("sink", "stamps")]),
        ("factors", content["factors"].get("sink", ())),
    ):
        for sink in sinks:
            if sink not in SUFFIXES:
                yield Problem((table, "sink"), f"nothing is known of a client whose sink is {sink}", "stamps")


def _relay_problems(content: Content) -> Iterator[Problem]:
    """Relays follow an exchange; only those on one connection can be sliced against each other."""
    if "feed" not in content:
        yield Problem(("relay",), "relays follow an exchange", "[feed] and [[feed.exchanges]] say which")
        return

    def values(table: str, key: str) -> list[Any]:
        return list(content["factors"].get(key, [content[table][key]]))

    designs = values("feed", "design")
    alone = set(values("relay", "upstream")) != {"one"} or set(values("relay", "fault")) != {"none"}
    place = ("factors" if "design" in content["factors"] else "feed", "design")
    if "parallel" in designs:
        yield Problem(place, "relays would stand in each other's way in parallel", 'design = "in-turn"')
    if "sliced" in designs and alone:
        yield Problem(
            place, "a relay with a fault or with several connections can't be sliced", 'design = "in-turn"'
        )
    for index, exchange in enumerate(content["feed"]["exchanges"]):
        if set(open_doors([exchange])) != {"ws"}:
            yield Problem(("feed", "exchanges", index), "relays follow a WebSocket", "path alone")
    if values("feed", "tls") != [False]:
        yield Problem(("feed", "tls"), "relays are measured with ws", "tls = false")
    faulty = {*values("relay", "fault")} - {"none"}
    if "slow-consumer" in faulty and min(values("relay", "clients")) < 2:
        yield Problem(("relay", "clients"), "one slow client leaves nobody to read", "clients = 2")


def _network_problems(content: Content) -> Iterator[Problem]:
    """Each network must be one; the exchange's certificate is for `localhost`, which no end of it is."""
    feed, factors = content["feed"], content["factors"]
    asked = [(("feed", "network"), feed.get("network", NO_PATH))]
    asked += [(("factors", "network"), value) for value in factors.get("network", ())]
    shapes = []
    for key, value in asked:
        try:
            shapes.append(PathShape.parse(str(value)))
        except ValueError as error:
            yield Problem(key, str(error), "delay=20ms,jitter=2ms,loss=1%,rate=100Mbit,congestion=bbr")
    if any(shapes) and True in (feed.get("tls", False), *factors.get("tls", ())):
        yield Problem(("feed", "tls"), "TLS is not spoken over a network yet", "leave out tls, or network")
    if any(shapes) and "relay" in content:
        yield Problem(("relay",), "relays stand on loopback", "leave network out")


def _pacer_problems(content: Content, stated: Mapping[str, set[str]]) -> Iterator[Problem]:
    pacers = content["factors"].get("pacer", [content["load"]["pacer"]])
    read = set[str]().union(*(PACER_KEYS.get(pacer, set()) for pacer in pacers if isinstance(pacer, str)))
    for key in sorted(set[str]().union(*PACER_KEYS.values()) - read):
        for table, keys in (("load", stated["load"]), ("factors", set(content["factors"]))):
            if key in keys:
                yield Problem(
                    (table, key), f'"{key}" has no effect with pacer = "{pacers[0]}"', "leave it out"
                )


def _client_problems(content: Content, registry: Registry) -> Iterator[Problem]:
    in_factors = "client" in content["factors"]
    clients = content["factors"].get("client", [content["load"]["client"]])
    path: tuple[str, str] = ("factors" if in_factors else "load", "client")
    able = [target.name for target in registry.targets if target.echo_client_command is not None]
    for client in clients:
        if client not in (ENGINE, OWN) and client not in able:
            yield Problem(
                path, f'no target "{client}" has an echo client', nearest(str(client), [ENGINE, OWN, *able])
            )
    if any(client != ENGINE for client in clients) and not _one_in_flight(content):
        yield Problem(
            path, "echo clients send, wait and send again, nothing else", 'pacer = "closed", in_flight = 1'
        )


def _one_in_flight(content: Content) -> bool:
    pacers = content["factors"].get("pacer", [content["load"]["pacer"]])
    depths = content["factors"].get("in_flight", [content["load"]["in_flight"]])
    return list(pacers) == ["closed"] and list(depths) == [1]


def _fragment_problems(content: Content) -> Iterator[Problem]:
    """What the engine can't send in fragments, and pings that would have no place."""

    def values(key: str) -> list[Any]:
        return list(content["factors"].get(key, [content["load"][key]]))

    path: tuple[str, str] = ("factors" if "fragments" in content["factors"] else "load", "fragments")
    if max(values("fragments"), default=1) > 1:
        if True in values("offer_deflate"):
            yield Problem(path, "fragments are not compressed here", "offer_deflate = false")
        if STAMP in values("payload"):
            yield Problem(path, "stamps are not sent in fragments", 'payload = "json:64"')
        if any(client != ENGINE for client in values("client")):
            yield Problem(path, "echo clients send no fragments", f'client = "{ENGINE}"')
    elif True in values("ping_between"):
        place = "factors" if "ping_between" in content["factors"] else "load"
        yield Problem((place, "ping_between"), "one frame has nothing between", "fragments = 2")


def _payload_problems(content: Content, folder: Path) -> Iterator[Problem]:
    payloads: list[tuple[tuple[str | int, ...], Any]]
    if "payload" in content["factors"]:
        payloads = [
            (("factors", "payload", index), value)
            for index, value in enumerate(content["factors"]["payload"])
        ]
    else:
        payloads = [(("load", "payload"), content["load"]["payload"])]
    for path, payload in payloads:
        yield from _model_problems(content, path, payload)
        kind, _, name = str(payload).partition(":")
        if kind not in ("file", "text-file"):
            continue
        file = folder / name
        if not file.is_file():
            yield Problem(
                path, f'the payload file "{name}" is not there', "it is looked for beside the scenario"
            )
        elif kind == "text-file" and not _is_text(file):
            yield Problem(path, f'the payload file "{name}" is not UTF-8 text', f'send it as "file:{name}"')


def _model_problems(content: Content, path: tuple[str | int, ...], payload: object) -> Iterator[Problem]:
    """Stamps are asked of /stamp and of nothing else that our targets serve; echo clients send none."""
    paths = content["factors"].get("path", [content["load"]["path"]])
    stamps = payload == STAMP
    if stamps and "/echo" in paths:
        yield Problem(path, "/echo does not answer stamps", f'path = "{STAMP_PATH}"')
    if not stamps and STAMP_PATH in paths:
        yield Problem(path, f"{STAMP_PATH} answers nothing but stamps", f'payload = "{STAMP}"')
    clients = content["factors"].get("client", [content["load"]["client"]])
    if stamps and any(client != ENGINE for client in clients):
        yield Problem(path, "echo clients send no stamps", f'client = "{ENGINE}"')


def _is_text(file: Path) -> bool:
    try:
        file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _protocol_problems(content: Content) -> Iterator[Problem]:
    protocol = content["protocol"]
    if protocol["slice"] != "none" and parse_duration(protocol["slice"]) > parse_duration(
        protocol["measure"]
    ):
        yield Problem(
            ("protocol", "slice"), "a slice is longer than the measuring", "shorten slice or lengthen measure"
        )
