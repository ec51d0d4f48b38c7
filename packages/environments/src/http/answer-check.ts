/** More than any observation has. */
export const mostAnswerBytes = 32 * 2 ** 20;
/** Lists and objects in one another. What reads JSON by recursion ends at some thousands. */
const deepestAnswer = 256;

const [quote, backslash, newline, comma] = [0x22, 0x5c, 0x0a, 0x2c];
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d]);

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
    for (const byte of bytes) {
      if (this.#isStream) this.#readFrame(byte);
      this.#readByte(byte);
    }
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > mostAnswerBytes) throw new Error(`the answer has more than ${mostAnswerBytes} bytes`);
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
    if (byte !== 0x0d) this.#last = byte;
  }

  #readByte(byte: number): void {
    if (this.#isText) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === backslash) this.#isEscaped = true;
      else if (byte === quote) this.#isText = false;
    } else if (byte === quote) this.#isText = true;
    else if (closing.has(byte)) this.#depth--;
    else if (opening.has(byte) && ++this.#depth > deepestAnswer)
      throw new Error(`the answer nests more than ${deepestAnswer} lists and objects in one another`);
  }
}
