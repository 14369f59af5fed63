// The sink `sqlite` (spec/feed.md): each message is a row of its own before the next one is handed over.
import { hostname } from 'node:os';
import process from 'node:process';

const SCHEMA = `
PRAGMA synchronous=OFF; PRAGMA journal_mode=WAL;
CREATE TABLE IF NOT EXISTS test_details (test_id INTEGER PRIMARY KEY, vps_id TEXT, connector_id TEXT, exchange_id TEXT,
                                         stream_id TEXT, stream_args TEXT, datetime_start INTEGER);
CREATE TABLE IF NOT EXISTS events (event_id INTEGER PRIMARY KEY, datetime_received INTEGER, event TEXT, received_ns INTEGER);
`;

/** The runtime's own SQLite; better-sqlite3 for Node before 22.13. The three agree on exec, prepare, run and close. */
async function openDatabase(file) {
  if (process.versions.bun)
    return new (await import('bun:sqlite')).Database(file);
  let own;
  try {
    own = await import('node:sqlite');
  } catch {
    return new (await import('better-sqlite3')).default(file);
  }
  return new own.DatabaseSync(file);
}

/** Text as a string, binary as bytes of its own, so that no more than those are sent to another thread. */
export function eventOf(data, isBinary) {
  return isBinary ? new Uint8Array(data) : data.toString();
}

export class SqliteSink {
  #database;
  #insert;

  static async open(file, { target, exchange, stream, subscribe }) {
    const sink = new SqliteSink();
    sink.#database = await openDatabase(file);
    sink.#database.exec(SCHEMA);
    sink.#database
      .prepare(
        'INSERT INTO test_details (vps_id, connector_id, exchange_id, stream_id, stream_args, datetime_start) VALUES (?, ?, ?, ?, ?, ?)',
      )
      .run(hostname(), target, exchange, stream, subscribe ?? null, Date.now());
    sink.#insert = sink.#database.prepare(
      'INSERT INTO events (datetime_received, event, received_ns) VALUES (?, ?, ?)',
    );
    return sink;
  }

  connected() {}

  message(at, data, isBinary) {
    this.insert(at, eventOf(data, isBinary));
  }

  insert({ ns, ms }, event) {
    this.#insert.run(ms, event, ns);
  }

  end() {
    this.#database.close();
  }
}
