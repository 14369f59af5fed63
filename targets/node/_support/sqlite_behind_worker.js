// The thread of the sink `sqlite_behind`: says that it has started, inserts, and says that it is done.
import { parentPort, workerData } from 'node:worker_threads';
import { SqliteSink } from './sqlite_sink.js';

/** better-sqlite3's own kind of error arrives in the other thread without its message. */
function told(error) {
  return new Error(error.message);
}

const sink = await SqliteSink.open(workerData.file, workerData.details).catch(
  (error) => {
    throw told(error);
  },
);
parentPort.on('message', (message) => {
  try {
    if (message !== 'end') {
      sink.insert(message.at, message.event);
      return;
    }
    sink.end();
  } catch (error) {
    throw told(error);
  }
  parentPort.postMessage('done');
});
parentPort.postMessage('started');
