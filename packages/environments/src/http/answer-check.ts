import { isDeeperThan } from '@agentjet/core';

/** More than any observation has. */
export const mostAnswerBytes = 32 * 2 ** 20;
/** Lists and objects in one another. What reads JSON by recursion ends at some thousands. */
const deepestAnswer = 256;

const [quote, backslash, newline, carriageReturn, comma] = [0x22, 0x5c, 0x0a, 0x0d, 0x2c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

export const tooLarge = (most = mostAnswerBytes): Error => new Error(`the answer has more than ${most} bytes`);
const tooDeep = (): Error => new Error(`the answer nests more than ${deepestAnswer} lists and objects in one another`);

/** Throws an Error if parsed JSON is too deep, which `JSON.parse` takes, and a walk by recursion does not. */
export function requireShallow(json: unknown): void {
  if (isDeeperThan(deepestAnswer, json)) throw tooDeep();
}

/** Looks at the bytes of JSON as they come. */
export class AnswerCheck {
  #bytes = 0;
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  #last = comma;
  readonly #isStream: boolean;

  /** In a stream of events, each event is one answer. */
  constructor({ isStream = false }: { readonly isStream?: boolean } = {}) {
    this.#isStream = isStream;
  }

  /** Throws an Error that says what is too much. */
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

  /** Passes over what ends neither the text nor the event, most of a long answer. Returns where it ends. */
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

  /** An empty line ends an event; carriage returns do not count. */
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

/** Where a byte comes next. Each stretch is searched once, however often it is asked for. */
class NextByte {
  #next = -1;
  readonly #bytes: Uint8Array;
  readonly #byte: number;

  constructor(bytes: Uint8Array, byte: number) {
    this.#bytes = bytes;
    this.#byte = byte;
  }

  /** The first place not before `at`, or the end. */
  from(at: number): number {
    if (this.#next < at) {
      const found = this.#bytes.indexOf(this.#byte, at);
      this.#next = found === -1 ? this.#bytes.length : found;
    }
    return this.#next;
  }
}
