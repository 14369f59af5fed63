// The thread of the sink `sqlite_behind`: says that it has started, inserts, and says that it is done, or what was wrong.
import { parentPort, workerData } from 'node:worker_threads';
import { SqliteSink } from './sqlite_sink.js';

/** Errors are told by their message: their kinds differ between the runtimes, and don't all pass to another thread. */
async function tell(success, step) {
  try {
    await step();
    if (success) parentPort.postMessage({ success });
  } catch (error) {
    parentPort.postMessage({ problem: error.message });
  }
}

let sink;
parentPort.on('message', ({ at, event }) => {
  if (at) tell(undefined, () => sink.insert(at, event));
  else tell('written', () => sink.end());
});
await tell('started', async () => {
  sink = await SqliteSink.open(workerData.file, workerData.details);
});
