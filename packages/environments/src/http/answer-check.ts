import { isDeeperThan } from '@agentjet/core';

/** The maximum size of an answer. No real observation is larger. */
export const mostAnswerBytes = 32 * 2 ** 20;
/** The maximum nesting of lists and objects. Recursive readers of JSON fail at a depth of some thousands. */
const deepestAnswer = 256;

const [quote, backslash, newline, carriageReturn, comma] = [0x22, 0x5c, 0x0a, 0x0d, 0x2c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

export const tooLarge = (most = mostAnswerBytes): Error => new Error(`the answer has more than ${most} bytes`);
const tooDeep = (): Error => new Error(`the answer nests more than ${deepestAnswer} lists and objects`);

/** Throws an Error if parsed JSON is too deep. `JSON.parse` accepts such JSON, but a recursive walk fails. */
export function requireShallow(json: unknown): void {
  if (isDeeperThan(deepestAnswer, json)) throw tooDeep();
}

/** Checks the bytes of JSON as they arrive. */
export class AnswerCheck {
  #bytes = 0;
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  #last = comma;
  readonly #isStream: boolean;

  /** In a stream of events, each event is a separate answer. */
  constructor({ isStream = false }: { readonly isStream?: boolean } = {}) {
    this.#isStream = isStream;
  }

  /** Throws an Error that names the exceeded limit. */
  read(bytes: Uint8Array): void {
    if (!this.#isStream) this.#count(bytes.length);
    const ends = this.#isStream ? [quote, backslash, newline, carriageReturn] : [quote, backslash];
    const stops = ends.map((byte) => new NextByte(bytes, byte));
    for (let at = 0; at < bytes.length; at++) {
      if (this.#isText && !this.#isEscaped) at = this.#skip(at, Math.min(...stops.map((stop) => stop.from(at))));
      const byte = bytes[at];
      if (byte === undefined) return;
      if (this.#isStream) this.#readFrame(byte);
      this.#readByte(byte);
    }
  }

  /** Skips bytes that end neither the string nor the event, which are most of a long answer. Returns the end of these bytes. */
  #skip(at: number, stop: number): number {
    if (stop > at && this.#isStream) {
      this.#count(stop - at);
      this.#last = comma;
    }
    return stop;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > mostAnswerBytes) throw tooLarge();
  }

  /** An empty line ends an event. Carriage returns are ignored. */
  #readFrame(byte: number): void {
    this.#count(1);
    if (byte === newline && this.#last === newline) {
      this.#bytes = 0;
      this.#depth = 0;
      this.#isText = false;
      this.#isEscaped = false;
    }
    if (byte !== carriageReturn) this.#last = byte;
  }

  #readByte(byte: number): void {
    if (this.#isText) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === backslash) this.#isEscaped = true;
      else if (byte === quote) this.#isText = false;
    } else if (byte === quote) this.#isText = true;
    else if (byte === closeList || byte === closeObject) this.#depth--;
    else if ((byte === openList || byte === openObject) && ++this.#depth > deepestAnswer) throw tooDeep();
  }
}

/** Finds the next position of a byte. No byte is searched twice. */
class NextByte {
  #next = -1;
  readonly #bytes: Uint8Array;
  readonly #byte: number;

  constructor(bytes: Uint8Array, byte: number) {
    this.#bytes = bytes;
    this.#byte = byte;
  }

  /** Returns the first position from `at` on, or the end. */
  from(at: number): number {
    if (this.#next < at) {
      const found = this.#bytes.indexOf(this.#byte, at);
      this.#next = found === -1 ? this.#bytes.length : found;
    }
    return this.#next;
  }
}
