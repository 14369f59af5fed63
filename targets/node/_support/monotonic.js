// CLOCK_MONOTONIC in ns, on each of the runtimes.
import process from 'node:process';

const CLOCK_MONOTONIC = 1;

/** By the C library, where hrtime counts from the start of the process. */
function throughLibc(clockGettime, now) {
  return () => {
    clockGettime(CLOCK_MONOTONIC, now);
    return now[0] * 1_000_000_000n + now[1];
  };
}

async function choose() {
  if (process.versions.deno) {
    const { symbols } = globalThis.Deno.dlopen('libc.so.6', {
      clock_gettime: { parameters: ['i32', 'buffer'], result: 'i32' },
    });
    return throughLibc(symbols.clock_gettime, new BigInt64Array(2));
  }
  if (process.versions.bun) {
    const { dlopen } = await import('bun:ffi');
    const { symbols } = dlopen('libc.so.6', {
      clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' },
    });
    return throughLibc(symbols.clock_gettime, new BigInt64Array(2));
  }
  return process.hrtime.bigint;
}

export const monotonicNs = await choose();
