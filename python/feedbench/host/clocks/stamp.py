# Answers each line with perf_counter_ns.
import sys
import time

for _ in sys.stdin.buffer:
    sys.stdout.buffer.write(b"%d\n" % time.perf_counter_ns())
    sys.stdout.buffer.flush()
