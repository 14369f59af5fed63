// Echo and stamp servers with websocket (WebSocket-Node).
import websocket from 'websocket';
import * as serving from '../_support/serving.js';

const largest = 16 * 1024 * 1024; // bytes of a message

function echo(connection) {
  connection.on('message', (message) => {
    if (message.type === 'utf8') {
      serving.beforeAnswer(message.utf8Data);
      connection.sendUTF(message.utf8Data);
    } else {
      serving.beforeAnswer(message.binaryData);
      connection.sendBytes(message.binaryData);
    }
  });
}

function stamp(connection) {
  connection.on('message', (message) => {
    const data = message.utf8Data ?? message.binaryData;
    serving.beforeAnswer(data);
    const answer = serving.stampAnswer(data);
    if (answer === undefined) connection.close(1003);
    else connection.sendUTF(answer);
  });
  connection.sendUTF(serving.stamp(0));
}

const services = { '/echo': echo, '/stamp': stamp };
const httpServer = serving.createServer();
const server = new websocket.server({
  httpServer,
  maxReceivedFrameSize: largest,
  maxReceivedMessageSize: largest,
});
server.on('request', (request) => {
  const service = services[request.resource];
  if (service) service(request.accept(null, request.origin));
  else request.reject(404);
});
serving.listen(httpServer);
serving.endOnSignal();
