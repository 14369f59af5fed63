// Echo and stamp servers with faye-websocket.
import WebSocket from 'faye-websocket';
import * as serving from '../_support/serving.js';

function echo(ws) {
  ws.on('message', ({ data }) => {
    serving.beforeAnswer(data);
    ws.send(data);
  });
}

function stamp(ws) {
  ws.on('message', ({ data }) => {
    serving.beforeAnswer(data);
    const answer = serving.stampAnswer(data);
    if (answer === undefined)
      ws.close(3003); // the library allows 1000 and 3000–4999
    else ws.send(answer);
  });
  ws.send(serving.stamp(0));
}

const services = { '/echo': echo, '/stamp': stamp };
const server = serving.createServer();
server.on('upgrade', (request, socket, head) => {
  const service = services[request.url];
  if (!service || !WebSocket.isWebSocket(request)) {
    serving.refuseUpgrade(socket);
    return;
  }
  socket.setNoDelay(true); // the library leaves it to its user
  service(new WebSocket(request, socket, head));
});
serving.listen(server);
serving.endOnSignal();
