import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { TaskError, toErrorMessage } from '@agentjet/core';
import type { Row, RowBatch, RowFormat } from './row-format.js';
import { checkTaskFile, unreadable } from './text-lines.js';

const rowsAtOnce = 1000;
const mostRowBytes = 64 * 2 ** 20;

/** Comma-separated values under a line of names; `.tsv`: separated by tabs. All values are strings. */
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
        // The parser counts the line that a row ends in, and the mark at the start of a quoted one is more use to nobody.
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
  const stream = createReadStream(file);
  stream.on('error', (error) => parser.destroy(error));
  return stream.pipe(parser) as AsyncIterable<Parsed>;
}

function checkNames(file: string, names: readonly string[]): string[] {
  const trimmed = names.map((name) => name.trim());
  const bad = trimmed.find((name, at) => name === '' || trimmed.indexOf(name) !== at);
  if (bad === undefined) return trimmed;
  throw new TaskError(
    'bad_task',
    `${file}:1: the first line names ${bad === '' ? 'a column without a name' : `two columns "${bad}"`}. Give each column a name of its own.`,
  );
}

async function checkText(file: string): Promise<void> {
  const handle = await open(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(1024), 0, 1024, 0);
    const start = buffer.subarray(0, bytesRead);
    if (start.includes(0))
      throw new TaskError(
        'unreadable_file',
        `Task file ${file} holds zero bytes: it is not text, or text in UTF-16. Save it as UTF-8.`,
      );
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
