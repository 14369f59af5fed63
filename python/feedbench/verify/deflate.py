"""permessage-deflate (RFC 7692) as a strict peer sees it: what was agreed, and messages under it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from websockets.exceptions import InvalidHeaderFormat, PayloadTooBig, ProtocolError
from websockets.extensions import Extension
from websockets.frames import CTRL_OPCODES, Frame, Opcode
from websockets.headers import parse_extension
from websockets.typing import ExtensionName

NAME = "permessage-deflate"
TAIL = b"\x00\x00\xff\xff"
# zlib does not compress with a window of 256; with 512 it looks no farther back than 250, which fits both.
SMALLEST_ZLIB_BITS = 9
WIDEST_BITS = 15
STEP_BYTES = 64
FLAGS = ("server_no_context_takeover", "client_no_context_takeover")
BITS = ("server_max_window_bits", "client_max_window_bits")

Parameters = Mapping[str, str | None]


class DisagreementError(Exception):
    """The answer is none that the offer allows; the message says why."""


@dataclass(frozen=True)
class Agreement:
    """`answer` as it was sent; the rest is what it means for either side."""

    answer: Parameters
    server_takes_over: bool
    client_takes_over: bool
    server_bits: int
    client_bits: int

    def inflater(self, *, of_server: bool) -> Inflater:
        """For what that side sends."""
        return Inflater(
            bits=self.server_bits if of_server else self.client_bits,
            takes_over=self.server_takes_over if of_server else self.client_takes_over,
        )

    def compressor(self, *, as_server: bool) -> Compressor:
        return Compressor(
            bits=self.server_bits if as_server else self.client_bits,
            takes_over=self.server_takes_over if as_server else self.client_takes_over,
        )


def agree(offered: str, answered: str | None) -> Agreement | None:
    """What offer and answer (two Sec-WebSocket-Extensions headers) come to; None: no compression.

    DisagreementError when the answer accepts nothing that was offered (RFC 7692, sections 5.1 and 7.1).
    """
    if answered is None:
        return None
    answers = _extensions(answered)
    if len(answers) != 1 or answers[0][0] != NAME:
        raise DisagreementError(f"it answers {answered!r}, of which nothing was offered")
    answer = _parameters(answers[0][1], is_answer=True)
    reasons = []
    for name, parameters in _extensions(offered):
        if name == NAME:
            try:
                return _fit(_parameters(parameters, is_answer=False), answer)
            except DisagreementError as reason:
                reasons.append(str(reason))
    raise DisagreementError(f"it answers {answered!r}: {'; '.join(reasons) or 'that was not offered'}")


def _fit(offer: Parameters, answer: Parameters) -> Agreement:
    if "server_no_context_takeover" in offer and "server_no_context_takeover" not in answer:
        raise DisagreementError("server_no_context_takeover was asked for and is not granted")
    if "server_max_window_bits" in offer:
        most = int(offer["server_max_window_bits"] or WIDEST_BITS)
        if int(answer.get("server_max_window_bits") or 99) > most:
            raise DisagreementError(f"server_max_window_bits={most} was asked for and is not granted")
    if "client_max_window_bits" in answer:
        if "client_max_window_bits" not in offer:
            raise DisagreementError("client_max_window_bits was not offered")
        if int(answer["client_max_window_bits"] or WIDEST_BITS) > int(
            offer["client_max_window_bits"] or WIDEST_BITS
        ):
            raise DisagreementError("client_max_window_bits is wider than the offer")
    return Agreement(
        answer=answer,
        server_takes_over="server_no_context_takeover" not in answer,
        client_takes_over=not {"client_no_context_takeover"} & (set(answer) | set(offer)),
        server_bits=int(answer.get("server_max_window_bits") or WIDEST_BITS),
        client_bits=int(
            answer.get("client_max_window_bits") or offer.get("client_max_window_bits") or WIDEST_BITS
        ),
    )


def _extensions(header: str) -> list[tuple[str, list[tuple[str, str | None]]]]:
    if not header.strip():
        return []
    try:
        return [(str(name), list(parameters)) for name, parameters in parse_extension(header.strip())]
    except InvalidHeaderFormat as error:
        raise DisagreementError(f"{header!r} is no list of extensions ({error})") from error


def _parameters(given: Sequence[tuple[str, str | None]], *, is_answer: bool) -> Parameters:
    """RFC 7692, sections 7.1.1 and 7.1.2: each once, flags without a value, window bits 8 to 15."""
    names = [name for name, _ in given]
    for name, value in given:
        if names.count(name) > 1:
            raise DisagreementError(f"{name} stands twice")
        if name in FLAGS and value is None:
            continue
        if name == "client_max_window_bits" and value is None and not is_answer:
            continue
        if name in BITS and value in [str(bits) for bits in range(8, 16)]:
            continue
        raise DisagreementError(f"{name if value is None else f'{name}={value}'} is no parameter")
    return dict(given)


class Inflater(Extension):
    """Frames as one side of an agreement sends them, given back as they were before compression.

    In the manner of the `websockets` package, whose parser calls it. Its own decoder inflates a message at
    once, and zlib then lets it refer back to anything in it, however narrow the window is.
    """

    name = ExtensionName(NAME)

    def __init__(self, *, bits: int, takes_over: bool) -> None:
        self.bits = bits
        self.takes_over = takes_over
        self.stream = zlib.decompressobj(-bits)
        self.compressed = False

    def decode(self, frame: Frame, *, max_size: int | None = None) -> Frame:
        if frame.opcode in CTRL_OPCODES:
            return frame
        if frame.opcode is not Opcode.CONT:
            self.compressed = frame.rsv1
            if frame.rsv1 and not self.takes_over:
                self.stream = zlib.decompressobj(-self.bits)
        elif frame.rsv1:
            raise ProtocolError("RSV1 is set on a continuation")
        if not self.compressed:
            return frame
        try:
            content = self._inflate(bytes(frame.data) + (TAIL if frame.fin else b""), most=max_size)
        except zlib.error as error:
            raise ProtocolError(f"it does not inflate with a window of {1 << self.bits} bytes") from error
        return Frame(frame.opcode, content, frame.fin, False, frame.rsv2, frame.rsv3)

    def _inflate(self, rest: bytes, *, most: int | None) -> bytes:
        """Step by step where the window is narrow: zlib goes by it only for what it has given out before."""
        step = STEP_BYTES if self.bits < WIDEST_BITS else 0
        parts = []
        size = 0
        while rest:
            parts.append(self.stream.decompress(rest, step))
            size += len(parts[-1])
            if most is not None and size > most:
                raise PayloadTooBig(size, most)
            rest = self.stream.unconsumed_tail
            if self.stream.eof:
                # A final block (section 7.2.3.4); the tail begins another stream.
                rest, self.stream = self.stream.unused_data, zlib.decompressobj(-self.bits)
        return b"".join(parts)

    def encode(self, frame: Frame) -> Frame:
        return frame


class Compressor:
    """Payloads as one side of an agreement may send them."""

    def __init__(self, *, bits: int, takes_over: bool) -> None:
        self.bits = max(bits, SMALLEST_ZLIB_BITS)
        self.takes_over = takes_over
        self.stream = self._fresh()

    def _fresh(self, level: int = -1, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> zlib._Compress:
        return zlib.compressobj(level, zlib.DEFLATED, -self.bits, strategy=strategy)

    def compress(self, content: bytes, how: str) -> bytes:
        """`how`: plain; blocks (one for each byte); final (the last block says that it is: RFC 7692, section
        7.2.3.4); stored or fixed (the kinds of DEFLATE blocks, sections 7.2.3.3 and 7.2.3.1).
        """
        if how in ("final", "stored", "fixed"):
            # A stream of its own. What follows must not look back beyond it, so it starts anew, too.
            self.stream = self._fresh()
            stream = self._fresh(
                level=0 if how == "stored" else -1,
                strategy=zlib.Z_FIXED if how == "fixed" else zlib.Z_DEFAULT_STRATEGY,
            )
            if how != "final":
                return _without_tail(stream, [content])
            # The octet of zeros is the beginning of an empty block, whose rest is the tail that isn't sent.
            return stream.compress(content) + stream.flush(zlib.Z_FINISH) + b"\0"
        if not self.takes_over:
            self.stream = self._fresh()
        parts = [content[at : at + 1] for at in range(len(content))] if how == "blocks" else [content]
        return _without_tail(self.stream, parts)


def _without_tail(stream: zlib._Compress, parts: Sequence[bytes]) -> bytes:
    """Each part in blocks of its own. An empty message is one octet of zero (RFC 7692, section 7.2.3.6)."""
    content = b"".join(_flushed(stream, parts)).removesuffix(TAIL)
    return content or b"\0"


def _flushed(stream: zlib._Compress, parts: Sequence[bytes]) -> Iterator[bytes]:
    for part in parts:
        yield stream.compress(part) + stream.flush(zlib.Z_SYNC_FLUSH)
