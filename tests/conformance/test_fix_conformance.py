"""The exchange's FIX answers as defined, and no definition can be met by a spoiled answer."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from exchange_conformance.errors import ConformanceError
from exchange_conformance.exchange import default_command
from fix_conformance.__main__ import AT_ONCE, CHECKOUT, MAINTENANCE_DOOR, all_doors
from fix_conformance.client import Client, answers
from fix_conformance.definition import Case, Door, read_cases, read_steps
from fix_conformance.errors import CheckError, DefinitionError
from fix_conformance.pattern import check, parse
from fix_conformance.planted import PLANTS
from fix_conformance.wire import checksum, decode, encode, split

CASES = read_cases()


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[str, int]]]:
    try:
        command = default_command(CHECKOUT)
    except ConformanceError as error:
        pytest.skip(str(error))
    log = tmp_path_factory.mktemp("fix") / "exchange.log"
    with all_doors(command, log=log) as doors:
        urls = {name: urlsplit(url) for name, url in doors.items()}
        yield {name: (url.hostname or "", url.port or 0) for name, url in urls.items()}


@pytest.mark.end_to_end
def test_the_exchange_meets_every_definition(addresses: dict[str, tuple[str, int]]) -> None:
    def complaint(case: Case) -> str | None:
        try:
            Client(case, addresses[case.door.name], patience_s=60).run()
        except CheckError as error:
            return f"{case.id}: {error}"
        return None

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert [one for one in pool.map(complaint, CASES) if one] == []


@pytest.mark.end_to_end
def test_each_expected_message_is_missed_when_it_is_spoiled(addresses: dict[str, tuple[str, int]]) -> None:
    names = list(PLANTS)
    spoiled = [(case, answer) for case in CASES for answer in range(answers(case))]

    def is_noticed(number: int) -> bool:
        case, answer = spoiled[number]
        plant = PLANTS[names[number % len(names)]]
        # A name of its own: the numbers of a session go on from run to run.
        alone = replace(case, client=f"S{number}")
        try:
            # What is announced comes by the clock, ten seconds apart.
            patience_s = 15 if case.door.name == MAINTENANCE_DOOR else 2
            Client(alone, addresses[case.door.name], patience_s=patience_s, plant=(plant, answer)).run()
        except CheckError:
            return True
        return False

    with ThreadPoolExecutor(AT_ONCE) as pool:
        noticed = list(pool.map(is_noticed, range(len(spoiled))))
    missed = [
        (spoiled[number][0].id, spoiled[number][1], names[number % len(names)])
        for number, was_noticed in enumerate(noticed)
        if not was_noticed
    ]
    assert missed == []


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ([(262, "A"), (268, "2"), (269, "0"), (269, "1")], None),
        ([(262, "A"), (268, "2"), (269, "0"), (270, "1.5"), (269, "1")], None),
        ([(262, "A"), (268, "1"), (269, "0"), (269, "1")], "269=1 comes where nothing should"),
        ([(262, "A"), (268, "3"), (269, "0"), (269, "1")], "nothing comes"),
        ([(268, "1"), (262, "A"), (269, "0")], "262=A is expected, but 268=1 comes"),
        ([(262, "B"), (268, "0")], "262=B is not 'A'"),
        ([(262, "A"), (268, "1"), (269, "2")], "269=2 is not"),
        ([(262, "A"), (268, "x")], "268=x is not '#'"),
    ],
)
def test_a_pattern_takes_the_fields_in_order_and_groups_by_their_count(
    fields: list[tuple[int, str]], complaint: str | None
) -> None:
    expected = parse("262=A|268=#(269=~[01]~|270?=.)")
    if complaint is None:
        check(expected, fields, 3)
        return
    with pytest.raises(CheckError) as raised:
        check(expected, fields, 3)
    assert complaint in str(raised.value)


def test_values_with_parentheses_are_text_and_not_groups() -> None:
    check(parse("58=EncryptMethod (98), only 0|373=5"), [(58, "EncryptMethod (98), only 0"), (373, "5")], 3)


@pytest.mark.parametrize("line", ["", "= A", "> {49=X A", "< A 98", "< A 268=#(269=0", "- soon"])
def test_a_line_that_is_no_step_is_refused(line: str) -> None:
    with pytest.raises(DefinitionError):
        read_steps(line)


def test_a_message_that_is_sent_many_times_is_many_steps() -> None:
    assert read_steps("3> 1 112=A") == read_steps("> 1 112=A") * 3
    with pytest.raises(DefinitionError, match="only what is sent"):
        read_steps("3< 0 112=A")


def test_a_case_that_expects_nothing_is_refused() -> None:
    case = Case("x", "y", Door("d", "FIX.4.4", "E", 3), tuple(read_steps("> 0")))
    with pytest.raises(DefinitionError, match="expects no message"):
        answers(case)


@pytest.mark.parametrize("fault", ["checksum", "order", "length"])
def test_a_frame_that_is_wrong_is_no_message(fault: str) -> None:
    sound = encode([(8, "FIX.4.4"), (35, "0"), (34, "1")])
    assert decode(sound)[2] == (35, "0")
    assert split(sound + b"8=FIX") == (sound, b"8=FIX")
    assert split(sound[:-1]) is None
    body = sound[: sound.index(b"10=")]
    wrong = {
        "checksum": sound[:-4] + b"000\x01",
        "order": body.replace(b"35=0", b"53=0"),
        "length": sound[:-1],
    }[fault]
    if fault == "order":
        wrong += f"10={checksum(wrong)}\x01".encode()
    with pytest.raises(ValueError, match=r"."):
        decode(wrong)


def test_ids_are_unique_and_each_file_is_read(tmp_path: Path) -> None:
    assert len({case.id for case in CASES}) == len(CASES) > 80
    doors = {"standard", "binance", "coinbase", "acceptance", MAINTENANCE_DOOR}
    assert {case.door.name for case in CASES} == doors
    (tmp_path / "a.toml").write_text("schema = 2")
    with pytest.raises(DefinitionError, match=r"a\.toml: schema 2"):
        read_cases(tmp_path)
