// What the JavaScript servers share: arguments, knobs, the stamp protocol, an orderly end (spec/README.md, "Server").
import { readFileSync } from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';
import process from 'node:process';
import { parseArgs } from 'node:util';

const { host, port } = parseArgs({
  options: { host: { type: 'string' }, port: { type: 'string' } },
}).values;

export const address = { host, port: Number(port) };
export const deflate = process.env.FEEDBENCH_DEFLATE; // on, off, or undefined for the library's default
export const tlsFiles =
  process.env.FEEDBENCH_TLS === 'on'
    ? {
        certificate: process.env.FEEDBENCH_TLS_CERTIFICATE,
        key: process.env.FEEDBENCH_TLS_KEY,
      }
    : undefined;

const logMessages = process.env.FEEDBENCH_LOG_MESSAGES === 'true';
const delayNs = BigInt(process.env.FEEDBENCH_DELAY_NS ?? 0);

/** What the knobs want done first: printing the message, and spinning for a while. */
export function beforeAnswer(data) {
  if (logMessages) console.log(data.toString());
  if (delayNs > 0n) {
    const until = process.hrtime.bigint() + delayNs;
    while (process.hrtime.bigint() < until);
  }
}

export function stamp(c) {
  return JSON.stringify({ c, ts: Math.floor(Date.now() / 1000) });
}

/** The answer to {"c":n}; undefined when the message is something else, which ends the connection. */
export function stampAnswer(data) {
  let c;
  try {
    ({ c } = JSON.parse(data));
  } catch {
    return undefined;
  }
  return c === undefined ? undefined : stamp(c);
}

/** Node's own HTTP server, with TLS where the knob wants it; what is no upgrade gets 426. */
export function createServer() {
  const refuse = (request, response) => response.writeHead(426).end();
  if (!tlsFiles) return http.createServer(refuse);
  const cert = readFileSync(tlsFiles.certificate);
  return https.createServer({ cert, key: readFileSync(tlsFiles.key) }, refuse);
}

/** Listens on the given address; says in one line when it can't be had. */
export function listen(server) {
  server.on('error', (error) => cannotListen(error.message));
  server.listen(address.port, address.host);
}

export function cannotListen(reason) {
  console.error(`cannot listen on ${address.host}:${address.port}: ${reason}`);
  process.exit(1);
}

/** Refuses an upgrade to a path that there isn't. */
export function refuseUpgrade(socket) {
  socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
}

export function endOnSignal() {
  for (const signal of ['SIGTERM', 'SIGINT'])
    process.on(signal, () => process.exit(0));
}
