// Echo and stamp servers with ws.
import { WebSocketServer } from 'ws';
import * as serving from '../_support/serving.js';

const options = {
  noServer: true,
  perMessageDeflate: serving.deflate === 'on',
};

const echo = new WebSocketServer(options);
echo.on('connection', (ws) => {
  ws.on('error', () => {}); // a broken frame or a lost peer: ws closes that connection itself
  ws.on('message', (data, isBinary) => {
    serving.beforeAnswer(data);
    ws.send(data, { binary: isBinary });
  });
});

const stamp = new WebSocketServer(options);
stamp.on('connection', (ws) => {
  ws.on('error', () => {});
  ws.on('message', (data) => {
    serving.beforeAnswer(data);
    const answer = serving.stampAnswer(data);
    if (answer === undefined) ws.close(1003);
    else ws.send(answer);
  });
  ws.send(serving.stamp(0));
});

const services = { '/echo': echo, '/stamp': stamp };
const server = serving.createServer();
server.on('upgrade', (request, socket, head) => {
  const service = services[request.url];
  if (!service) {
    serving.refuseUpgrade(socket);
    return;
  }
  service.handleUpgrade(request, socket, head, (ws) =>
    service.emit('connection', ws),
  );
});
serving.listen(server);
serving.endOnSignal();
