"""permessage-deflate (RFC 7692): what a server agrees to, and messages under an agreement."""

import zlib
from dataclasses import dataclass

from wire import INVALID_TEXT, LONGEST_PAYLOAD, TOO_BIG, PeerError

NAME = "permessage-deflate"
TAIL = b"\x00\x00\xff\xff"
WINDOW_BYTES = 1 << 15
WIDEST_BITS = 15
# zlib compresses with no window of 8 bits; with 9 it never looks back farther than 250 bytes, which fits.
NARROWEST_ZLIB_BITS = 9
OUR_CLIENT_BITS = 12  # what we ask of a client that leaves it to us
BITS = {str(bits): bits for bits in range(8, 16)}


@dataclass(frozen=True)
class Agreement:
    own_takeover: bool = True
    own_bits: int = WIDEST_BITS


def agree(offers: str, *, any_parameters: bool = False) -> tuple[str, Agreement] | None:
    """The answer to the first offer that can be taken, and what it means for us; None when there is none."""
    for offer in offers.split(","):
        name, *words = (word.strip() for word in offer.split(";"))
        parameters = [parameter(word) for word in words]
        if name != NAME or not (any_parameters or are_right(parameters)):
            continue
        given = dict(parameters)
        answer = [NAME]
        answer += [
            flag for flag in ("server_no_context_takeover", "client_no_context_takeover") if flag in given
        ]
        own_bits = BITS.get(given.get("server_max_window_bits") or "", WIDEST_BITS)
        if "server_max_window_bits" in given:
            answer.append(f"server_max_window_bits={own_bits}")
        if "client_max_window_bits" in given:
            bits = BITS.get(given["client_max_window_bits"] or "", OUR_CLIENT_BITS)
            answer.append(f"client_max_window_bits={bits}")
        return "; ".join(answer), Agreement("server_no_context_takeover" not in given, own_bits)
    return None


def parameter(word: str) -> tuple[str, str | None]:
    name, sign, value = word.partition("=")
    return name.strip(), value.strip().strip('"') if sign else None


def are_right(parameters: list[tuple[str, str | None]]) -> bool:
    """Each once, flags without a value, window bits of 8 to 15 (section 7.1)."""
    names = [name for name, _ in parameters]
    return len(set(names)) == len(names) and all(
        (name in ("server_no_context_takeover", "client_no_context_takeover") and value is None)
        or (name == "client_max_window_bits" and value is None)
        or (name in ("server_max_window_bits", "client_max_window_bits") and value in BITS)
        for name, value in parameters
    )


class Compressor:
    def __init__(self, agreement: Agreement) -> None:
        self.agreement = agreement
        self.stream = self.fresh()

    def fresh(self):
        return zlib.compressobj(wbits=-max(self.agreement.own_bits, NARROWEST_ZLIB_BITS))

    def compress(self, payload: bytes) -> bytes:
        if not self.agreement.own_takeover:
            self.stream = self.fresh()
        content = self.stream.compress(payload) + self.stream.flush(zlib.Z_SYNC_FLUSH)
        return content.removesuffix(TAIL) or b"\0"


class Decompressor:
    """Keeps the peer's context over messages, also over a block that says it is the last."""

    def __init__(self) -> None:
        self.stream = zlib.decompressobj(-WIDEST_BITS)
        self.window = b""

    def decompress(self, payload: bytes) -> bytes:
        content = self.inflate(payload + TAIL)
        self.window = (self.window + content)[-WINDOW_BYTES:]
        return content

    def inflate(self, rest: bytes) -> bytes:
        parts = []
        room = LONGEST_PAYLOAD
        while rest:
            try:
                part = self.stream.decompress(rest, room + 1)
            except zlib.error as error:
                raise PeerError(INVALID_TEXT) from error
            parts.append(part)
            room -= len(part)
            if room < 0:
                raise PeerError(TOO_BIG)
            rest = self.stream.unconsumed_tail
            if self.stream.eof:
                rest = self.stream.unused_data
                seen = (self.window + b"".join(parts))[-WINDOW_BYTES:]
                self.stream = zlib.decompressobj(-WIDEST_BITS, zdict=seen)
        return b"".join(parts)
