// Relays an exchange's feed with ws, on both sides (spec/feed.md).
import http from 'node:http';
import process from 'node:process';
import WebSocket, { WebSocketServer } from 'ws';
import { monotonicNs } from '../_support/monotonic.js';
import {
  FAILED,
  WRONG_USAGE,
  end,
  knob,
  readArguments,
  readAuthority,
  readDelayNs,
  spin,
  whenAskedToEnd,
} from '../_support/settings.js';
import { StampsSink } from '../_support/stamps_sink.js';

const FIRST_WAIT_MS = 100; // before connecting again, doubled up to the longest
const LONGEST_WAIT_MS = 2000;
const CLOSING_AT_MOST_MS = 1000;
const GOING_AWAY = 1001;

const { url } = readArguments('ws://', 'wss://');
const [host, port] = process.argv.slice(6);
if (port === undefined || !/^\d+$/.test(port) || Number(port) > 65535)
  end(
    WRONG_USAGE,
    'usage: relay EXCHANGE DOMAIN PORT STREAM LISTEN_HOST LISTEN_PORT',
  );
const subscriptions = process.env.FEEDBENCH_SUBSCRIBE?.split('\n') ?? [];
const deflate = knob('FEEDBENCH_DEFLATE', ['default', 'off', 'on']);
const isShared = knob('FEEDBENCH_UPSTREAM', ['shared', 'each']) === 'shared';
const delayNs = readDelayNs(); // the control's
const authority = readAuthority(process.env.FEEDBENCH_CA_FILE);
const sink = await openSink();

async function openSink() {
  if (knob('FEEDBENCH_SINK', ['none', 'stamps']) === 'none') return undefined;
  const file = process.env.FEEDBENCH_OUTPUT;
  if (!file)
    end(WRONG_USAGE, 'FEEDBENCH_OUTPUT names no file for what is received');
  try {
    return await StampsSink.open(file);
  } catch (error) {
    return end(FAILED, `cannot write ${file}: ${error.message}`);
  }
}

/** What enters, as of now or of the time given. */
function record(kind, ...content) {
  try {
    sink?.[kind](...content);
  } catch (error) {
    end(
      FAILED,
      `cannot write ${process.env.FEEDBENCH_OUTPUT}: ${error.message}`,
    );
  }
}

const now = () => ({ ns: monotonicNs(), ms: Date.now() });

/** A connection upstream that is renewed until `leave` is called; each message goes to `clients()`. */
function follow(clients) {
  let socket;
  let timer;
  let waitMs = FIRST_WAIT_MS;
  let problem;

  function connect() {
    const options = { ca: authority };
    if (deflate !== 'default') options.perMessageDeflate = deflate === 'on';
    socket = new WebSocket(url, options);
    socket.on('open', () => {
      waitMs = FIRST_WAIT_MS;
      for (const message of subscriptions) socket.send(message);
      record('connected', now());
    });
    socket.on('message', (data, isBinary) => {
      if (delayNs > 0n) spin(delayNs);
      const at = now();
      for (const client of clients())
        if (client.readyState === WebSocket.OPEN)
          client.send(data, { binary: isBinary });
      record('message', at, data, isBinary);
    });
    socket.on('error', (error) => (problem = error.message || error.code));
    socket.on('close', (code, reason) =>
      again(
        problem ? `lost: ${problem}` : `closed: ${code} ${reason}`.trimEnd(),
      ),
    );
  }

  function again(reason) {
    problem = undefined;
    console.error(`${reason}; again in ${waitMs / 1000} s`);
    record('end', now(), reason);
    timer = setTimeout(connect, waitMs);
    waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
  }

  connect();
  return function leave() {
    clearTimeout(timer);
    socket.removeAllListeners('close').on('error', () => {}); // it may be connecting still
    socket.close();
  };
}

const downstream = new WebSocketServer({
  noServer: true,
  perMessageDeflate: deflate === 'on', // the library's default is off
});
const leaveShared = isShared ? follow(() => downstream.clients) : undefined;

downstream.on('connection', (client) => {
  client.on('error', () => {}); // a lost peer: ws closes that connection itself
  if (!isShared)
    client.on(
      'close',
      follow(() => [client]),
    );
});

const server = http.createServer((request, response) =>
  response.writeHead(426).end(),
);
server.on('upgrade', (request, socket, head) => {
  if (request.url !== '/feed')
    return socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
  return downstream.handleUpgrade(request, socket, head, (client) =>
    downstream.emit('connection', client),
  );
});
server.on('error', (error) =>
  end(FAILED, `cannot listen on ${host}:${port}: ${error.message}`),
);
server.listen(Number(port), host);

let isEnding = false;
whenAskedToEnd(() => {
  if (isEnding) return;
  isEnding = true;
  leaveShared?.();
  record('end', now(), '');
  for (const client of downstream.clients) client.close(GOING_AWAY);
  downstream.close(() => process.exit(0)); // when the last of them is gone
  setTimeout(() => process.exit(0), CLOSING_AT_MOST_MS);
});
