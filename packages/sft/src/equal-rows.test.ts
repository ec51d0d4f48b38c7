import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { describeEqualRows, findEqualRows } from './equal-rows.js';

/** Writes a folder whose embedding has these rows. */
function write(rows: readonly (readonly number[])[], name = 'model.embed_tokens.weight'): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'rows-'));
  const data = Buffer.from(Float32Array.from(rows.flat()).buffer);
  const shape = [rows.length, rows[0]?.length ?? 0];
  const header = JSON.stringify({ [name]: { dtype: 'F32', shape, data_offsets: [0, data.length] } });
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  writeFileSync(path.join(dir, 'model.safetensors'), Buffer.concat([length, Buffer.from(header), data]));
  writeFileSync(path.join(dir, 'config.json'), '{}');
  return dir;
}

async function find(ids: readonly number[], ...given: Parameters<typeof write>) {
  const dir = write(...given);
  try {
    return await findEqualRows(dir, ids);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const rows = [
  [1, 0, 0.5],
  [0, 0, 0],
  [0.5, 1, 0],
  [1, 0.001, 0.5],
  [-1, 0, -0.5],
  [0, 0, 0],
] as const;

it('finds rows that are equal but for rounding, and rows of zeros', async () => {
  expect(new Set(await find([0, 1, 2, 3, 4, 5], rows))).toEqual(
    new Set([
      [0, 3],
      [1, 5],
    ]),
  );
});

it('looks at the imitated tokens only', async () => {
  expect(await find([0, 2, 4, 5], rows)).toEqual([]);
});

it('says nothing of a folder with another layout, or with fewer rows than the tokenizer has tokens', async () => {
  expect(await find([0, 3], rows, 'transformer.wte.weight')).toEqual([]);
  expect(await find([0, 3, 6], rows)).toEqual([]);
});

it('names the tokens', () => {
  expect(describeEqualRows([['<a>', '</a>']])).toContain('"<a>" and "</a>"');
});
