import type { Readable } from 'node:stream';
import { toLastWords, type LastWords } from './worker-notice.js';

/** Keeps the last lines of a process's output for its error message. */
export class LastLines {
  readonly #limit: number;
  #lines: string[] = [];
  #open = '';
  #words: LastWords | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  follow(stream: Readable, onLine?: (line: string) => void): void {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => this.#add(text, onLine));
  }

  /** The first line in which a process says why it ends. The lines after it only report the consequences. */
  get words(): LastWords | undefined {
    return this.#words;
  }

  toString(): string {
    return [...this.#lines, this.#open].filter((line) => line.trim() !== '').join('\n');
  }

  #add(text: string, onLine: ((line: string) => void) | undefined): void {
    const lines = (this.#open + text).split(/\r?\n/);
    this.#open = (lines.pop() ?? '').slice(-4096);
    for (const line of lines) {
      onLine?.(line);
      this.#words ??= toLastWords(line);
    }
    this.#lines = [...this.#lines, ...lines].slice(-this.#limit);
  }
}
