// The sink `sqlite_behind` (spec/feed.md): a thread of its own inserts what it is sent.
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
    sink.#worker.on('message', ({ problem }) => {
      if (problem) onError(new Error(problem));
    });
    await sink.#told('started');
    return sink;
  }

  connected() {}

  message(at, data, isBinary) {
    this.#worker.postMessage({ at, event: eventOf(data, isBinary) });
  }

  async end() {
    this.#worker.postMessage({});
    await this.#told('written');
  }

  #told(what) {
    return new Promise((resolve) => {
      this.#worker.on('message', ({ success }) => {
        if (success === what) resolve();
      });
    });
  }
}
