import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readRows, type Row } from '../e2e/support/read-run.js';
import { isRow, keptNames, type Kept } from './read-kept.js';

const dir = path.join(import.meta.dirname, 'golden');
const baselineFile = path.join(dir, 'baseline.json');

/**
 * The processor on which the tutorials were trained. They train with onnxruntime, which gives the same last digits only
 * on the same processor.
 */
export type Baseline = { readonly commit: string; readonly processor: string };

export const readBaseline = (): Baseline => JSON.parse(readFileSync(baselineFile, 'utf8')) as Baseline;

export const writeBaseline = (baseline: Baseline): void =>
  writeFileSync(baselineFile, `${JSON.stringify(baseline, null, 2)}\n`);

/** Reads a golden file. If the file does not exist, the result has no rows. */
export function readGolden(name: string): Kept {
  const read = (file: string): readonly Row[] => (existsSync(file) ? readRows(file) : []);
  return Object.fromEntries(
    keptNames.map((file) => [file, read(path.join(dir, name, `${file}.jsonl`))]),
  ) as unknown as Kept;
}

export function writeGolden(name: string, kept: Partial<Kept>): void {
  mkdirSync(path.join(dir, name), { recursive: true });
  for (const [file, rows] of Object.entries(kept))
    writeFileSync(path.join(dir, name, `${file}.jsonl`), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

/** Returns `rows` with only the keys of the golden rows, because later versions may add keys. */
export function inKeysOf(golden: readonly Row[], rows: readonly Row[]): readonly Row[] {
  return rows.map((row, index) => pickAll(golden[index] ?? row, row));
}

function pickAll(known: Row, row: Row): Row {
  return Object.fromEntries(
    Object.entries(known).map(([key, value]) => {
      const own = row[key];
      return [key, isRow(value) && isRow(own) ? pickAll(value, own) : own];
    }),
  );
}
