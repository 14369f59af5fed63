// Echo and stamp servers with Bun's own WebSocket server.
import * as serving from '../_support/serving.js';

const largest = 16 * 1024 * 1024; // bytes of a message, and of what waits for a slow reader
const tls = serving.tlsFiles && {
  cert: Bun.file(serving.tlsFiles.certificate),
  key: Bun.file(serving.tlsFiles.key),
};

function answerStamp(ws, message) {
  const answer = serving.stampAnswer(message);
  if (answer === undefined) ws.close(1003);
  else ws.send(answer);
}

try {
  Bun.serve({
    hostname: serving.address.host,
    port: serving.address.port,
    tls,
    fetch(request, server) {
      const { pathname } = new URL(request.url);
      const isStamp = pathname === '/stamp';
      if (!isStamp && pathname !== '/echo')
        return new Response(null, { status: 404 });
      if (server.upgrade(request, { data: { isStamp } })) return undefined;
      return new Response(null, { status: 426 });
    },
    websocket: {
      maxPayloadLength: largest,
      backpressureLimit: largest,
      idleTimeout: 0,
      perMessageDeflate: serving.deflate === 'on',
      open(ws) {
        if (ws.data.isStamp) ws.send(serving.stamp(0));
      },
      message(ws, message) {
        serving.beforeAnswer(message);
        if (ws.data.isStamp) answerStamp(ws, message);
        else ws.send(message, serving.deflate === 'on');
      },
    },
  });
} catch (error) {
  serving.cannotListen(error.message);
}
serving.endOnSignal();
