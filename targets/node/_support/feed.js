// What the JavaScript feed clients share: command line, environment, record, ends (spec/feed.md).
import { Buffer } from 'node:buffer';
import process from 'node:process';
import { monotonicNs } from './monotonic.js';
import {
  FAILED,
  WRONG_USAGE,
  end,
  knob,
  parse,
  readArguments,
  readAuthority,
  readDelayNs,
  spin,
  whenAskedToEnd,
} from './settings.js';
import { SqliteSink } from './sqlite_sink.js';
import { SqliteBehindSink } from './sqlite_behind_sink.js';
import { StampsSink } from './stamps_sink.js';

const CLOSING_AT_MOST_MS = 1000; // a peer that does not answer the close frame is left after that
export const ABNORMAL_CLOSURE = 1006; // what libraries report when there was no close frame (RFC 6455, section 7.1.5)

const sinks = {
  stamps: StampsSink,
  sqlite: SqliteSink,
  sqlite_behind: SqliteBehindSink,
};

/** Opens the sink that the environment names; undefined for `none`. */
async function openSink(details) {
  const name = knob('FEEDBENCH_SINK', [...Object.keys(sinks), 'none']);
  if (name === 'none') return undefined;
  const file = process.env.FEEDBENCH_OUTPUT;
  if (!file)
    end(WRONG_USAGE, 'FEEDBENCH_OUTPUT names no file for what is received');
  try {
    return await sinks[name].open(file, details, (error) =>
      end(FAILED, `cannot write ${file}: ${error.message}`),
    );
  } catch (error) {
    return end(FAILED, `cannot write ${file}: ${error.message}`);
  }
}

/** One connection to one exchange, from the command line to the exit status. */
export class Feed {
  #parse = knob('FEEDBENCH_PARSE', ['off', 'on']) === 'on';
  #logMessages = knob('FEEDBENCH_LOG_MESSAGES', ['false', 'true']) === 'true';
  #delayNs = readDelayNs();
  #isConnected = false;
  #isEnding = false;
  #hasEnded = false;
  #problem; // the library's last word on it
  #sink;

  /**
   * Settings are read, the sink is open; a wrong setting has ended the program. `deflate` are the values of that knob
   * which the library can honour.
   */
  static async open(target, { deflate }) {
    const feed = new Feed();
    const { exchange, stream, url } = readArguments('ws://', 'wss://');
    feed.url = url;
    const subscribe = process.env.FEEDBENCH_SUBSCRIBE;
    feed.subscriptions = subscribe?.split('\n') ?? [];
    knob('FEEDBENCH_STAMP', ['after']); // there is no receive call: messages come as events
    const wanted = knob('FEEDBENCH_DEFLATE', ['default', ...deflate]);
    feed.deflate = { off: false, on: true }[wanted]; // undefined: the library's default
    feed.authority = readAuthority(process.env.FEEDBENCH_CA_FILE); // PEM; undefined: the system's
    feed.#sink = await openSink({ target, exchange, stream, subscribe });
    return feed;
  }

  connected() {
    this.#isConnected = true;
    this.#write(() =>
      this.#sink?.connected({ ns: monotonicNs(), ms: Date.now() }),
    );
  }

  /** Records a message: text as a string or as its UTF-8 bytes, binary as bytes or as their buffer. */
  receive(data, isBinary) {
    if (this.#delayNs > 0n) spin(this.#delayNs);
    const at = { ns: monotonicNs(), ms: Date.now() };
    if (this.#hasEnded) return;
    this.#write(() => this.#sink?.message(at, data, isBinary));
    if (this.#parse && !isBinary) parse(data);
    if (this.#logMessages)
      console.log(
        typeof data === 'string' ? data : Buffer.from(data).toString(),
      );
  }

  /** Keeps what the library reports as an error; its close event follows. */
  failed(problem) {
    this.#problem = problem;
  }

  closed(code, reason) {
    if (this.#isEnding) this.#finish(0, '');
    else if (!this.#isConnected)
      end(
        FAILED,
        `cannot connect to ${this.url}: ${this.#problem ?? 'the library does not say why'}`,
      );
    else if (code === ABNORMAL_CLOSURE)
      this.#finish(FAILED, `lost: ${this.#problem ?? 'no close frame'}`);
    else this.#finish(FAILED, `closed: ${code} ${reason}`.trimEnd());
  }

  /** Calls `close`, which starts the closing handshake, when SIGTERM or the exit file ask for the end. */
  closeWhenAsked(close) {
    const stop = () => {
      if (this.#isEnding) return;
      this.#isEnding = true;
      setTimeout(() => this.#finish(0, ''), CLOSING_AT_MOST_MS);
      close();
    };
    whenAskedToEnd(stop);
  }

  async #finish(status, reason) {
    if (this.#hasEnded) return;
    if (!this.#isConnected) process.exit(status); // asked to end before there was anything to record
    this.#hasEnded = true;
    const at = { ns: monotonicNs(), ms: Date.now() };
    try {
      await this.#sink?.end(at, reason);
    } catch (error) {
      this.#cannotWrite(error);
    }
    if (reason) end(status, reason);
    process.exit(status);
  }

  #write(step) {
    try {
      step();
    } catch (error) {
      this.#cannotWrite(error);
    }
  }

  #cannotWrite(error) {
    end(
      FAILED,
      `cannot write ${process.env.FEEDBENCH_OUTPUT}: ${error.message}`,
    );
  }
}
