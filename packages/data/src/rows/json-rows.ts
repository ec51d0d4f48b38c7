import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { TaskError } from '@agentjet/core';
import { jsonlRows } from './jsonl-rows.js';
import { parseRow } from './parse-row.js';
import type { RowBatch, RowFormat } from './row-format.js';
import { checkBeginning, checkTaskFile, notText } from './text-lines.js';

/** The maximum size of a file with a list. A list is parsed as a whole, so it must fit into memory several times. */
const mostBytes = 256 * 2 ** 20;

const rowsAtOnce = 1000;

/** A JSON file with one list. A `.json` file that contains JSON Lines is read as JSON Lines. */
export const jsonRows: RowFormat = {
  name: 'json',
  isAddressable: false,
  showPlace: (file, place) => `${file}: item ${place}`,
  async *read(file): AsyncGenerator<RowBatch> {
    await checkTaskFile(file, mostBytes);
    const bytes = await readFile(file);
    checkBeginning(file, bytes);
    if (!isUtf8(bytes)) throw notText(file);
    const text = bytes.toString('utf8').trim();
    if (/^\{.*\}[ \t]*(\r?\n|$)/.test(text) && !/^\{[^\n]*$/.test(text)) return yield* readLines(file);
    const list = parseRow(text, () => file);
    if (!Array.isArray(list))
      throw new TaskError(
        'bad_task',
        `${file} contains ${text === '' ? 'nothing' : JSON.stringify(list).slice(0, 60)}, which is not a list. Write [ { ... }, { ... } ], or JSON Lines in a file named .jsonl.`,
      );
    for (let from = 0; from < list.length; from += rowsAtOnce) {
      const rows = list.slice(from, from + rowsAtOnce).map((value: unknown, at) => ({ value, place: from + at }));
      yield { rows, doneShare: (from + rows.length) / list.length };
    }
  },
};

/** Line numbers mean nothing in a list, so rows are counted. */
async function* readLines(file: string): AsyncGenerator<RowBatch> {
  let place = 0;
  for await (const { rows, doneShare } of jsonlRows.read(file))
    yield { rows: rows.map(({ value }) => ({ value, place: place++ })), doneShare };
}
