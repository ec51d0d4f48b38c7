import type { Row, RowFormat } from '../rows/row-format.js';

/** Returns all rows of a file. */
export async function collectRows(format: RowFormat, file: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for await (const batch of format.read(file)) rows.push(...batch.rows);
  return rows;
}
