// Echo and stamp servers with Deno's own WebSocket server.
import * as serving from '../_support/serving.js';

function echo(socket) {
  socket.onmessage = ({ data }) => {
    serving.beforeAnswer(data);
    socket.send(data);
  };
}

function stamp(socket) {
  socket.onopen = () => socket.send(serving.stamp(0));
  socket.onmessage = ({ data }) => {
    serving.beforeAnswer(data);
    const text =
      typeof data === 'string' ? data : new TextDecoder().decode(data);
    const answer = serving.stampAnswer(text);
    if (answer === undefined)
      socket.close(3003); // the library allows 1000 and 3000–4999
    else socket.send(answer);
  };
}

const services = { '/echo': echo, '/stamp': stamp };

function handle(request) {
  const service = services[new URL(request.url).pathname];
  if (!service) return new Response(null, { status: 404 });
  if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket')
    return new Response(null, { status: 426 });
  const { socket, response } = Deno.upgradeWebSocket(request, {
    idleTimeout: 0,
  });
  socket.binaryType = 'arraybuffer';
  socket.onerror = () => {}; // a broken frame or a lost peer: that connection is closed already
  service(socket);
  return response;
}

const tls = serving.tlsFiles && {
  cert: Deno.readTextFileSync(serving.tlsFiles.certificate),
  key: Deno.readTextFileSync(serving.tlsFiles.key),
};
try {
  Deno.serve(
    {
      hostname: serving.address.host,
      port: serving.address.port,
      onListen: () => {},
      ...tls,
    },
    handle,
  );
} catch (error) {
  serving.cannotListen(error.message);
}
serving.endOnSignal();
