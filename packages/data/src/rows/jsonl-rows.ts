import { stat } from 'node:fs/promises';
import { parseRow } from './parse-row.js';
import type { RowBatch, RowFormat } from './row-format.js';
import { readLineBatches } from './text-lines.js';

/** JSON Lines: one JSON value per line. */
export const jsonlRows: RowFormat = {
  name: 'jsonl',
  isAddressable: true,
  showPlace: (file, line) => `${file}:${line}`,
  async *read(file): AsyncGenerator<RowBatch> {
    const { size } = await stat(file);
    for await (const { lines, doneBytes } of readLineBatches(file)) {
      const rows = lines.map(({ line, text, offset, length }) => ({
        value: parseRow(text, () => `${file}:${line}`),
        place: line,
        offset,
        length,
      }));
      yield { rows, doneShare: size === 0 ? 1 : doneBytes / size };
    }
  },
};
