// The sink `sqlite_behind` (spec/feed.md): a thread of its own inserts what it is sent.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { eventOf } from './sqlite_sink.js';

export class SqliteBehindSink {
  #worker;

  /** `onError` is called when the thread can't write. */
  static async open(file, details, onError) {
    const sink = new SqliteBehindSink();
    sink.#worker = new Worker(
      new URL('./sqlite_behind_worker.js', import.meta.url),
      { workerData: { file, details } },
    );
    await once(sink.#worker, 'message'); // it has started; an error rejects
    sink.#worker.on('error', onError);
    return sink;
  }

  connected() {}

  message(at, data, isBinary) {
    this.#worker.postMessage({ at, event: eventOf(data, isBinary) });
  }

  async end() {
    const written = once(this.#worker, 'message');
    this.#worker.postMessage('end');
    await written;
  }
}
