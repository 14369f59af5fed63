"""simplefix in passes over a file of messages; see `bench`."""

import sys
import time
from pathlib import Path

import simplefix

READ_BYTES = 1_024
"""As from a socket: its parser copies what it has not read yet, so that more at once would slow it down."""


def main() -> None:
    """For each line on stdin one pass; prints the nanoseconds that it took."""
    content = Path(sys.argv[1]).read_bytes()
    reads = [content[at : at + READ_BYTES] for at in range(0, len(content), READ_BYTES)]
    for _ in sys.stdin:
        began = time.perf_counter_ns()
        parser = simplefix.FixParser()
        fields = 0
        for read in reads:
            parser.append_buffer(read)
            while (message := parser.get_message()) is not None:
                fields += len(message.pairs)
        took = time.perf_counter_ns() - began
        if fields == 0:
            raise SystemExit("simplefix found no message")
        print(took, flush=True)


main()
