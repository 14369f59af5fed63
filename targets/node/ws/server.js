// Echo and stamp servers with ws.
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { WebSocketServer } from 'ws';

const { host, port } = parseArgs({
  options: { host: { type: 'string' }, port: { type: 'string' } },
}).values;
const logMessages = process.env.FEEDBENCH_LOG_MESSAGES === 'true';
const delayNs = BigInt(process.env.FEEDBENCH_DELAY_NS ?? 0);
const options = {
  noServer: true,
  perMessageDeflate: process.env.FEEDBENCH_DEFLATE === 'on',
};

function beforeAnswer(data) {
  if (logMessages) console.log(data.toString());
  if (delayNs > 0n) {
    const until = process.hrtime.bigint() + delayNs;
    while (process.hrtime.bigint() < until);
  }
}

function parseCount(data) {
  try {
    return JSON.parse(data).c;
  } catch {
    return undefined;
  }
}

const echo = new WebSocketServer(options);
echo.on('connection', (ws) => {
  ws.on('error', () => {}); // a broken frame or a lost peer: ws closes that connection itself
  ws.on('message', (data, isBinary) => {
    beforeAnswer(data);
    ws.send(data, { binary: isBinary });
  });
});

const stamp = new WebSocketServer(options);
stamp.on('connection', (ws) => {
  const send = (c) =>
    ws.send(JSON.stringify({ c, ts: Math.floor(Date.now() / 1000) }));
  ws.on('error', () => {});
  ws.on('message', (data) => {
    beforeAnswer(data);
    const count = parseCount(data);
    if (count === undefined) ws.close(1003);
    else send(count);
  });
  send(0);
});

const services = { '/echo': echo, '/stamp': stamp };
const server = createServer((request, response) =>
  response.writeHead(426).end(),
);
server.on('upgrade', (request, socket, head) => {
  const service = services[request.url];
  if (!service) {
    socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
    return;
  }
  service.handleUpgrade(request, socket, head, (ws) =>
    service.emit('connection', ws),
  );
});
server.on('error', (error) => {
  console.error(`cannot listen on ${host}:${port}: ${error.message}`);
  process.exit(1);
});
server.listen(Number(port), host);
for (const signal of ['SIGTERM', 'SIGINT'])
  process.on(signal, () => process.exit(0));
