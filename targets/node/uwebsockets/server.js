// Echo and stamp servers with uWebSockets.js.
import uWS from 'uwebsockets';
import * as serving from '../_support/serving.js';

const largest = 16 * 1024 * 1024; // bytes of a message, and of what waits for a slow reader
const common = {
  maxPayloadLength: largest,
  maxBackpressure: largest,
  idleTimeout: 0,
  compression: serving.deflate === 'on' ? uWS.SHARED_COMPRESSOR : uWS.DISABLED,
};

const app = serving.tlsFiles
  ? uWS.SSLApp({
      cert_file_name: serving.tlsFiles.certificate,
      key_file_name: serving.tlsFiles.key,
    })
  : uWS.App();

app
  .ws('/echo', {
    ...common,
    message: (ws, message, isBinary) => {
      serving.beforeAnswer(Buffer.from(message));
      ws.send(message, isBinary, serving.deflate === 'on');
    },
  })
  .ws('/stamp', {
    ...common,
    open: (ws) => ws.send(serving.stamp(0)),
    message: (ws, message) => {
      const data = Buffer.from(message);
      serving.beforeAnswer(data);
      const answer = serving.stampAnswer(data);
      if (answer === undefined) ws.end(1003);
      else ws.send(answer);
    },
  })
  .any('/*', (response) => response.writeStatus('404 Not Found').end())
  .listen(serving.address.host, serving.address.port, (listening) => {
    if (!listening) serving.cannotListen('the address is in use or not ours');
  });
serving.endOnSignal();
