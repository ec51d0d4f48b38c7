import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { TaskError, toErrorMessage, codeOfError } from '@agentjet/core';

/**
 * Reads lines of text files in batches, because a million awaits would take longer than reading the file. Each line has the
 * position of its bytes, so that it can be read again alone.
 */

export type TextLine = {
  /** Counted from 1. */
  readonly line: number;
  /** The line without surrounding white space. */
  readonly text: string;
  /** The position of its first byte in the file. */
  readonly offset: number;
  /** The length in bytes. */
  readonly length: number;
};

/** Lines that are not blank. */
export type LineBatch = { readonly lines: readonly TextLine[]; readonly doneBytes: number };

const mostLineBytes = 64 * 2 ** 20;

const newline = 10;
const carriageReturn = 13;

/** The first bytes of files that are not UTF-8 text, with the repair. */
const beginnings: readonly (readonly [bytes: readonly number[], problem: string])[] = [
  [[0x1f, 0x8b], 'is compressed with gzip. Unpack it: gunzip <file>'],
  [[0x28, 0xb5, 0x2f, 0xfd], 'is compressed with zstd. Unpack it: unzstd <file>'],
  [[0x50, 0x4b, 0x03, 0x04], 'is a zip archive. Unpack it'],
  [[0x50, 0x41, 0x52, 0x31], 'is a Parquet file. Give it a name that ends in .parquet'],
  [[0xff, 0xfe], 'is UTF-16. Save it as UTF-8'],
  [[0xfe, 0xff], 'is UTF-16. Save it as UTF-8'],
];

/** Returns the lines of a UTF-8 file, except blank ones. Throws TaskError with file and line. */
export async function* readLineBatches(file: string): AsyncGenerator<LineBatch> {
  const splitter = new LineSplitter(file);
  for await (const chunk of readChunks(file)) {
    const lines = splitter.push(chunk);
    if (lines.length > 0) yield { lines, doneBytes: splitter.doneBytes };
  }
  yield { lines: splitter.end(), doneBytes: splitter.doneBytes };
}

/**
 * Throws TaskError for a path that is not a plain file of at most `mostBytes`. Devices and pipes have no end, or block
 * the reader.
 */
export async function checkTaskFile(file: string, mostBytes = Infinity): Promise<void> {
  const entry = await stat(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  if (!entry.isFile())
    throw new TaskError(
      'unreadable_file',
      `Task file ${file} is ${entry.isDirectory() ? 'a folder' : 'a device or a pipe'}. Name a file with one JSON object per line.`,
    );
  if (entry.size > mostBytes)
    throw new TaskError(
      'unreadable_file',
      `Task file ${file} has ${entry.size} bytes; a task file may have ${mostBytes}. Give its tasks through a reader that yields them one by one (task_reader.type: customized_protocol).`,
    );
}

class LineSplitter {
  doneBytes = 0;
  readonly #file: string;
  /** Pieces of a line whose end has not arrived yet. */
  #pieces: Buffer[] = [];
  #numPending = 0;
  #line = 0;

  constructor(file: string) {
    this.#file = file;
  }

  push(chunk: Buffer): readonly TextLine[] {
    const last = chunk.lastIndexOf(newline);
    if (last === -1) {
      this.#pieces.push(chunk);
      this.#numPending += chunk.length;
      if (this.#numPending > mostLineBytes) throw tooLong(`${this.#file}:${this.#line + 1}`);
      return [];
    }
    const whole = this.#take(chunk.subarray(0, last));
    const lines = this.#split(whole, this.doneBytes);
    this.doneBytes += whole.length + 1;
    const rest = chunk.subarray(last + 1);
    [this.#pieces, this.#numPending] = [rest.length === 0 ? [] : [rest], rest.length];
    return lines;
  }

  end(): readonly TextLine[] {
    if (this.#numPending === 0) return [];
    const whole = this.#take(Buffer.alloc(0));
    const lines = this.#split(whole, this.doneBytes);
    this.doneBytes += whole.length;
    return lines;
  }

  #take(end: Buffer): Buffer {
    return this.#pieces.length === 0 ? end : Buffer.concat([...this.#pieces, end]);
  }

  #split(bytes: Buffer, start: number): readonly TextLine[] {
    const lines: TextLine[] = [];
    const isText = isUtf8(bytes);
    for (let from = 0; from <= bytes.length; ) {
      const found = bytes.indexOf(newline, from);
      const to = found === -1 ? bytes.length : found;
      if (to - from > mostLineBytes) throw tooLong(`${this.#file}:${this.#line + 1}`);
      const raw = bytes.subarray(from, to);
      if (this.#line === 0) checkBeginning(this.#file, raw);
      if (!isText && !isUtf8(raw)) throw notText(`${this.#file}:${this.#line + 1}`);
      this.#addLines(raw, start + from, lines);
      from = to + 1;
    }
    return lines;
  }

  /** A carriage return ends a line too, because some old editors end lines with it alone. */
  #addLines(raw: Buffer, start: number, lines: TextLine[]): void {
    for (let from = 0; ; ) {
      const found = raw.indexOf(carriageReturn, from);
      const isLast = found === -1 || found === raw.length - 1;
      const to = isLast ? raw.length : found;
      this.#line++;
      const text = raw.toString('utf8', from, to).trim(); // `trim` also removes a byte order mark
      if (text !== '') lines.push({ line: this.#line, text, offset: start + from, length: to - from });
      if (isLast) return;
      from = found + 1;
    }
  }
}

async function* readChunks(file: string): AsyncGenerator<Buffer> {
  const stream = createReadStream(file, { highWaterMark: 1 << 20 });
  try {
    yield* stream as AsyncIterable<Buffer>;
  } catch (error) {
    throw error instanceof TaskError ? error : unreadable(file, error);
  } finally {
    stream.destroy();
  }
}

/** Throws TaskError if the first bytes are not UTF-8 text. */
export function checkBeginning(file: string, bytes: Uint8Array): void {
  const found = beginnings.find(([beginning]) => beginning.every((byte, at) => bytes[at] === byte));
  if (found !== undefined) throw new TaskError('unreadable_file', `Task file ${file} ${found[1]}.`);
  if (bytes.subarray(0, 1024).includes(0))
    throw new TaskError(
      'unreadable_file',
      `Task file ${file} contains zero bytes: it is not text, or text in UTF-16. Save it as UTF-8.`,
    );
}

export function notText(where: string): TaskError {
  return new TaskError('unreadable_file', `${where}: not UTF-8. Save the file as UTF-8.`);
}

function tooLong(where: string): TaskError {
  return new TaskError(
    'bad_json',
    `${where}: the line is longer than ${mostLineBytes} bytes. A task file has one JSON object per line.`,
  );
}

/** Describes the error of reading a file. */
export function unreadable(file: string, error: unknown): TaskError {
  const isMissing = codeOfError(error) === 'ENOENT';
  const message = isMissing
    ? `Task file ${file} does not exist. Check task_reader.`
    : `Task file ${file} cannot be read: ${toErrorMessage(error)}`;
  return new TaskError(isMissing ? 'missing_file' : 'unreadable_file', message, { cause: error });
}
