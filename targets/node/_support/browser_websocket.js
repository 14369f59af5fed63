// For the libraries with the browsers' WebSocket interface.
import { ABNORMAL_CLOSURE } from './feed.js';

/**
 * Records what comes over a socket that was just made, until the end of the program. As in browsers, what comes after
 * our own close frame is not handed over.
 */
export function follow(feed, socket) {
  socket.binaryType = 'arraybuffer';
  socket.onmessage = ({ data }) => feed.receive(data, typeof data !== 'string');
  socket.onopen = () => {
    feed.connected();
    for (const message of feed.subscriptions) socket.send(message);
  };
  socket.onerror = (event) => {
    const problem = event.error?.cause ?? event.error ?? event;
    if (problem.message) feed.failed(problem.message);
  };
  socket.onclose = ({ code, reason }) =>
    feed.closed(code || ABNORMAL_CLOSURE, reason); // Deno says 0
  feed.closeWhenAsked(() => socket.close(1000));
}
