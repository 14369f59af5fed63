// What the JavaScript pollers share: command line, environment, interval, record, ends (spec/feed.md, Pollers).
import { Buffer } from 'node:buffer';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicNs } from './monotonic.js';
import {
  FAILED,
  UNSUPPORTED,
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
import { StampsSink } from './stamps_sink.js';

const USUAL_INTERVAL_NS = '20000000';
const ANSWER_HEAD_BYTES = 12;

function readIntervalNs() {
  const value = process.env.FEEDBENCH_POLL_INTERVAL_NS ?? USUAL_INTERVAL_NS;
  if (!/^\d+$/.test(value))
    end(UNSUPPORTED, `FEEDBENCH_POLL_INTERVAL_NS=${value}: say a whole number`);
  return BigInt(value);
}

async function openSink() {
  if (knob('FEEDBENCH_SINK', ['stamps', 'none']) === 'none') return undefined;
  const file = process.env.FEEDBENCH_OUTPUT;
  if (!file)
    end(WRONG_USAGE, 'FEEDBENCH_OUTPUT names no file for what is received');
  try {
    return await StampsSink.open(file);
  } catch (error) {
    return end(FAILED, `cannot write ${file}: ${error.message}`);
  }
}

/** Asks one exchange for one resource, again and again, from the command line to the exit status. */
export class Poll {
  #intervalNs = readIntervalNs();
  #delayNs = readDelayNs();
  #parse = knob('FEEDBENCH_PARSE', ['off', 'on']) === 'on';
  #hasAnswered = false;
  #isEnding = false;
  #sink;

  /** Settings are read, the sink is open; a wrong setting has ended the program. `http`: versions that it can speak. */
  static async open({ http }) {
    const poll = new Poll();
    const { url } = readArguments('http://', 'https://');
    poll.url = new URL(url);
    poll.http2 = knob('FEEDBENCH_HTTP', http) === '2';
    poll.authority = readAuthority(process.env.FEEDBENCH_CA_FILE); // PEM; undefined: the system's
    poll.#sink = await openSink();
    whenAskedToEnd(() => poll.#finish(0, ''));
    return poll;
  }

  /** `ask` gives `{ status, retryAfter, body }` with the whole body as bytes, or throws. */
  async follow(ask) {
    this.#write(() => this.#sink?.connected(now()));
    for (;;) {
      const sentNs = monotonicNs();
      let answer;
      try {
        answer = await ask();
      } catch (error) {
        this.#lost(error);
        return;
      }
      if (this.#delayNs > 0n) spin(this.#delayNs);
      const at = now();
      if (this.#isEnding) return;
      this.#hasAnswered = true;
      this.#write(() => this.#sink?.answer(at, payload(sentNs, answer)));
      if (this.#parse) parse(Buffer.from(answer.body).toString());
      await sleep(this.#pauseMs(sentNs, answer));
    }
  }

  /** Timers count in milliseconds and may be early by a part of one, so the pause is rounded up. */
  #pauseMs(sentNs, { status, retryAfter }) {
    if (status !== 200 && /^\d+$/.test(retryAfter ?? ''))
      return Number(retryAfter) * 1000;
    const pauseNs = sentNs + this.#intervalNs - monotonicNs();
    return pauseNs > 0n ? Math.ceil(Number(pauseNs) / 1e6) : 0;
  }

  #lost(error) {
    const told = error.message || error.code; // of several addresses only a code is told
    this.#finish(
      FAILED,
      this.#hasAnswered
        ? `lost: ${told}`
        : `cannot connect to ${this.url}: ${told}`,
    );
  }

  #finish(status, reason) {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#write(() => this.#sink?.end(now(), reason));
    if (reason) end(status, reason);
    process.exit(status);
  }

  #write(step) {
    try {
      step();
    } catch (error) {
      end(
        FAILED,
        `cannot write ${process.env.FEEDBENCH_OUTPUT}: ${error.message}`,
      );
    }
  }
}

function now() {
  return { ns: monotonicNs(), ms: Date.now() };
}

function payload(sentNs, { status, body }) {
  const bytes = Buffer.alloc(ANSWER_HEAD_BYTES + body.length);
  bytes.writeBigUInt64LE(sentNs, 0);
  bytes.writeUInt16LE(status, 8); // and two bytes of zero
  bytes.set(body, ANSWER_HEAD_BYTES);
  return bytes;
}
