// What every Node driver does besides using its client: read the arguments, print claims, know when to end.
// A claim is one JSON line on stdout: what the client handed over, before anybody else touched it.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const LOOK_EVERY_MS = 50;

export class Claims {
  #least;
  #count = new Map();
  #messages;
  #givesUp;

  // `least` says how often each channel must be heard of: a ticker by the second must not hold up the end.
  constructor(packageName, least = {}) {
    const { values } = parseArgs({
      options: {
        exchange: { type: 'string' },
        messages: { type: 'string' },
        'deadline-s': { type: 'string' },
        ws: { type: 'string' },
        rest: { type: 'string' },
      },
    });
    this.exchange = values.exchange;
    this.ws = values.ws;
    this.rest = values.rest;
    this.#messages = Number(values.messages);
    this.#givesUp = Date.now() + Number(values['deadline-s']) * 1000;
    this.#least = least;
    const manifest = new URL(
      `node_modules/${packageName}/package.json`,
      import.meta.url,
    );
    print({ version: JSON.parse(readFileSync(manifest, 'utf8')).version });
  }

  channels(least) {
    this.#least = least;
  }

  // Values of an object of the client's.
  fields(channel, symbol, fields) {
    this.#claim({ channel, symbol, fields });
  }

  // A whole message as the client parsed it.
  message(channel, symbol, message) {
    this.#claim({ channel, symbol, message });
  }

  // A whole message as the client handed it over.
  text(channel, symbol, text) {
    this.#claim({ channel, symbol, text });
  }

  #claim(claim) {
    if (this.over) return;
    this.#count.set(claim.channel, (this.#count.get(claim.channel) ?? 0) + 1);
    print(claim);
  }

  get complete() {
    const total = [...this.#count.values()].reduce(
      (sum, count) => sum + count,
      0,
    );
    const heard = Object.entries(this.#least).every(
      ([channel, count]) => (this.#count.get(channel) ?? 0) >= count,
    );
    return total >= this.#messages && heard;
  }

  get over() {
    return this.complete || Date.now() > this.#givesUp;
  }

  // Waits until there is nothing more to wait for, then ends the process: some clients keep timers for ever.
  async end() {
    while (!this.over)
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    const last = `${JSON.stringify({ complete: this.complete })}\n`;
    if (!this.complete)
      console.error(
        `received only ${JSON.stringify(Object.fromEntries(this.#count))}`,
      );
    process.stdout.write(last, () => process.exit(0));
  }
}

function print(value) {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
