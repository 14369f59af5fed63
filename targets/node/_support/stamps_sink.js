// The sink `stamps` (spec/feed.md): one write to the kernel for each message, before the next one is handed over.
import { Buffer } from 'node:buffer';
import { fstatSync, openSync, writeSync } from 'node:fs';

const VERSION = 1;
const HEADER_BYTES = 16;
const RECORD_BYTES = 24;
const TEXT = 1;
const BINARY = 2;
const CONNECTED = 3;
const END = 4;
const ANSWER = 5; // a poller's

export class StampsSink {
  #descriptor;

  static async open(file) {
    const sink = new StampsSink();
    sink.#descriptor = openSync(file, 'a');
    if (fstatSync(sink.#descriptor).size === 0) sink.#write(header());
    return sink;
  }

  connected(at) {
    this.#record(at, CONNECTED, '');
  }

  message(at, data, isBinary) {
    this.#record(at, isBinary ? BINARY : TEXT, data);
  }

  answer(at, data) {
    this.#record(at, ANSWER, data);
  }

  end(at, reason) {
    this.#record(at, END, reason);
  }

  #record({ ns, ms }, kind, data) {
    const payload = Buffer.isBuffer(data) ? data : Buffer.from(data); // of an ArrayBuffer a view, not a copy
    const record = Buffer.allocUnsafe(RECORD_BYTES + payload.length);
    record.writeBigUInt64LE(ns, 0);
    record.writeBigUInt64LE(BigInt(ms), 8);
    record.writeUInt32LE(payload.length, 16);
    record.writeUInt32LE(kind, 20); // one byte, and three of zero
    record.set(payload, RECORD_BYTES);
    this.#write(record);
  }

  /** The kernel takes a part when the disk fills up; the next call then says why. */
  #write(bytes) {
    for (let written = 0; written < bytes.length;)
      written += writeSync(this.#descriptor, bytes, written);
  }
}

function header() {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.write('FBSTAMPS');
  bytes.writeUInt32LE(VERSION, 8);
  return bytes;
}
