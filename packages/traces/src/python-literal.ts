/**
 * Parses values in the form of Python's `repr`: strings in single or double quotes, numbers, lists, tuples, dicts,
 * None, True and False, and calls such as `Msg(role='user', content='Hi')`, which become objects of their named
 * arguments. Nothing is executed.
 */

const maxDepth = 50;
const number = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/;
const name = /^[A-Za-z_][\w.]*/;
const words: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['None', null],
  ['True', true],
  ['False', false],
]);
const escapes: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
]);

/** Returns the value, or undefined for any other text. */
export function readPythonLiteral(text: string): unknown {
  const reader = new Reader(text);
  try {
    return reader.readAll();
  } catch (error) {
    if (error instanceof NotPython) return undefined;
    throw error;
  }
}

class NotPython extends Error {}

class Reader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readAll(): unknown {
    const value = this.#value();
    if (this.#next() !== '') throw new NotPython();
    return value;
  }

  #next(): string {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++;
    return this.#text[this.#at] ?? '';
  }

  #value(): unknown {
    if (++this.#depth > maxDepth) throw new NotPython();
    const first = this.#next();
    const value =
      first === "'" || first === '"'
        ? this.#string(first)
        : first === '[' || first === '('
          ? this.#list(first === '[' ? ']' : ')')
          : first === '{'
            ? Object.fromEntries(this.#entries('}', ':', () => String(this.#value())))
            : this.#word();
    this.#depth--;
    return value;
  }

  #word(): unknown {
    const rest = this.#text.slice(this.#at, this.#at + 200);
    const digits = number.exec(rest)?.[0];
    if (digits !== undefined) {
      this.#at += digits.length;
      return Number(digits);
    }
    const word = this.#take(name);
    if (words.has(word)) return words.get(word);
    if (this.#next() !== '(') throw new NotPython();
    return Object.fromEntries(this.#entries(')', '=', () => this.#take(name)));
  }

  #take(pattern: RegExp): string {
    this.#next();
    const found = pattern.exec(this.#text.slice(this.#at, this.#at + 200))?.[0];
    if (found === undefined) throw new NotPython();
    this.#at += found.length;
    return found;
  }

  #string(quote: string): string {
    let text = '';
    for (this.#at++; this.#text[this.#at] !== quote; this.#at++) {
      const letter = this.#text[this.#at];
      if (letter === undefined) throw new NotPython();
      text += letter === '\\' ? this.#escape() : letter;
    }
    this.#at++;
    return text;
  }

  /** Reads an escape sequence. Leaves the position at its last letter. */
  #escape(): string {
    const letter = this.#text[++this.#at];
    if (letter === undefined) throw new NotPython();
    const size = { x: 2, u: 4, U: 8 }[letter];
    if (size === undefined) return escapes.get(letter) ?? letter;
    const code = Number.parseInt(this.#text.slice(this.#at + 1, this.#at + 1 + size), 16);
    if (!(code <= 0x10ffff)) throw new NotPython();
    this.#at += size;
    return String.fromCodePoint(code);
  }

  #list(close: string): unknown[] {
    const items: unknown[] = [];
    for (this.#at++; this.#next() !== close; ) {
      items.push(this.#value());
      this.#comma(close);
    }
    this.#at++;
    return items;
  }

  #entries(close: string, between: string, key: () => string): (readonly [string, unknown])[] {
    const entries: (readonly [string, unknown])[] = [];
    for (this.#at++; this.#next() !== close; ) {
      const named = key();
      if (this.#next() !== between) throw new NotPython();
      this.#at++;
      entries.push([named, this.#value()]);
      this.#comma(close);
    }
    this.#at++;
    return entries;
  }

  #comma(close: string): void {
    if (this.#next() === ',') this.#at++;
    else if (this.#next() !== close) throw new NotPython();
  }
}
