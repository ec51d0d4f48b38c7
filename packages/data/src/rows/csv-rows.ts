import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { pipeline, Transform, type TransformCallback } from 'node:stream';
import { TaskError, toErrorMessage } from '@agentjet/core';
import type { Row, RowBatch, RowFormat } from './row-format.js';
import { checkBeginning, checkTaskFile, notText, unreadable } from './text-lines.js';

const rowsAtOnce = 1000;
const mostRowBytes = 64 * 2 ** 20;

/** Comma-separated values under a line of names. In `.tsv` files, tabs separate them. All values are strings. */
export const csvRows: RowFormat = {
  name: 'csv',
  isAddressable: false,
  showPlace: (file, line) => `${file}:${line}`,
  async *read(file): AsyncGenerator<RowBatch> {
    await checkTaskFile(file);
    await checkText(file);
    const { size } = await stat(file);
    const rows: Row[] = [];
    try {
      for await (const { record, info } of await openParser(file)) {
        // The line in which the row ends. A quoted value may have begun on an earlier line.
        rows.push({ value: record, place: info.lines });
        if (rows.length === rowsAtOnce) yield { rows: rows.splice(0), doneShare: Math.min(1, info.bytes / size) };
      }
    } catch (error) {
      throw badCsv(file, error);
    }
    yield { rows, doneShare: 1 };
  },
};

type Parsed = { readonly record: Readonly<Record<string, string>>; readonly info: { lines: number; bytes: number } };

async function openParser(file: string): Promise<AsyncIterable<Parsed>> {
  const { parse } = await import('csv-parse');
  const parser = parse({
    bom: true,
    columns: (names: readonly string[]) => checkNames(file, names),
    delimiter: file.toLowerCase().endsWith('.tsv') ? '\t' : ',',
    info: true,
    max_record_size: mostRowBytes,
    skip_empty_lines: true,
  });
  const stream = createReadStream(file, { highWaterMark: 1 << 20 });
  const checked = new CheckedText(file);
  pipeline(stream, checked, parser, () => undefined); // an error ends the parser, which throws it
  return parser as AsyncIterable<Parsed>;
}

/** Passes bytes on, and fails if they are not UTF-8. */
class CheckedText extends Transform {
  readonly #file: string;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #line = 1;

  constructor(file: string) {
    super();
    this.#file = file;
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.#check(() => this.#decoder.decode(chunk, { stream: true }), done, chunk);
  }

  override _flush(done: TransformCallback): void {
    this.#check(() => this.#decoder.decode(), done);
  }

  #check(decode: () => string, done: TransformCallback, chunk?: Buffer): void {
    try {
      this.#line += decode().split('\n').length - 1;
      done(null, chunk);
    } catch {
      done(notText(`${this.#file}, after line ${this.#line}`));
    }
  }
}

function checkNames(file: string, names: readonly string[]): string[] {
  const trimmed = names.map((name) => name.trim());
  const bad = trimmed.find((name, at) => name === '' || trimmed.indexOf(name) !== at);
  if (bad === undefined) return trimmed;
  throw new TaskError(
    'bad_task',
    `${file}:1: the first line names ${bad === '' ? 'a column without a name' : `two columns "${bad}"`}. Give each column a unique name.`,
  );
}

async function checkText(file: string): Promise<void> {
  const handle = await open(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(1024), 0, 1024, 0);
    checkBeginning(file, buffer.subarray(0, bytesRead));
  } finally {
    await handle.close();
  }
}

function badCsv(file: string, error: unknown): TaskError {
  if (error instanceof TaskError) return error;
  const lines: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'lines') : undefined;
  const where = typeof lines === 'number' ? `${file}:${lines}` : file;
  return new TaskError('bad_csv', `${where}: not CSV: ${toErrorMessage(error)}.`, { cause: error });
}
