// What JavaScript clients and pollers read from the command line and the environment, and how they end.
import { existsSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { monotonicNs } from './monotonic.js';

export const FAILED = 1;
export const WRONG_USAGE = 2;
export const UNSUPPORTED = 127;
const EXIT_FILE_EVERY_MS = 250;

export function end(status, line) {
  console.error(String(line).split('\n', 1)[0]);
  process.exit(status);
}

/** The variable's value, the first of `allowed` when it is unset. */
export function knob(name, allowed) {
  const value = process.env[name] ?? allowed[0];
  if (!allowed.includes(value))
    end(UNSUPPORTED, `${name}=${value}: this client can't do that`);
  return value;
}

export function readDelayNs() {
  const value = process.env.FEEDBENCH_DELAY_NS ?? '0';
  if (!/^\d+$/.test(value))
    end(UNSUPPORTED, `FEEDBENCH_DELAY_NS=${value}: say a whole number`);
  return BigInt(value);
}

/** Makes the control, whose messages are late by a known time. */
export function spin(delayNs) {
  const until = monotonicNs() + delayNs;
  while (monotonicNs() < until);
}

export function readAuthority(file) {
  try {
    return file && readFileSync(file, 'utf8');
  } catch (error) {
    return end(FAILED, `cannot read FEEDBENCH_CA_FILE: ${error.message}`);
  }
}

/** EXCHANGE DOMAIN PORT STREAM, and the URL that they make: with `plain` before the host, or else `secure`. */
export function readArguments(plain, secure) {
  const [exchange, domain, port, stream] = process.argv.slice(2);
  if (stream === undefined)
    end(WRONG_USAGE, 'usage: client EXCHANGE DOMAIN PORT STREAM');
  if (!/^\d+$/.test(port) || Number(port) > 65535)
    end(WRONG_USAGE, `the port is ${port}: say a number up to 65535`);
  const origin = domain.startsWith(plain) ? domain : `${secure}${domain}`;
  return { exchange, stream, url: `${origin}:${port}${stream}` };
}

/** Calls `stop` when SIGTERM, SIGINT or the exit file ask for the end. */
export function whenAskedToEnd(stop) {
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, stop);
  const file = process.env.FEEDBENCH_EXIT_FILE;
  if (!file) return;
  setInterval(() => {
    if (existsSync(file)) stop();
  }, EXIT_FILE_EVERY_MS);
}

/** What decoding costs is what FEEDBENCH_PARSE is for; a text that is no JSON is recorded like any other. */
export function parse(text) {
  try {
    JSON.parse(text);
  } catch {
    // recorded already
  }
}
