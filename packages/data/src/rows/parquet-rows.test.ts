import { copyFileSync, mkdtempSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { collectRows } from '../testing/collect-rows.js';
import { jsonlRows } from './jsonl-rows.js';
import { parquetRows } from './parquet-rows.js';

const fixtures = path.join(import.meta.dirname, 'fixtures');
const dir = mkdtempSync(path.join(tmpdir(), 'parquet-rows-'));

it.each(['snappy', 'gzip', 'zstd', 'lz4', 'brotli', 'pages'])(
  'reads what pyarrow wrote with %s as the same rows in JSON Lines',
  async (codec) => {
    const rows = await collectRows(parquetRows, path.join(fixtures, `rows-${codec}.parquet`));
    const expected = await collectRows(jsonlRows, path.join(fixtures, 'rows.jsonl'));
    expect(rows.map(({ value }) => value)).toEqual(expected.map(({ value }) => value));
    expect(rows.map(({ place }) => place)).toEqual(expected.map((_, at) => at));
  },
);

it('reads decimals as they are, in lists, structs and maps, and times of the day', async () => {
  const rows = await collectRows(parquetRows, path.join(fixtures, 'decimals.parquet'));
  expect(rows.map(({ value }) => value)).toEqual([
    {
      price: 3.14159,
      item: { price: 1.25 },
      large: '-12345678901234567890.12',
      list: [1.1, null],
      map: { a: 0.05 },
      structs: [{ cost: 3.3 }],
      whole: 7,
      time: '01:02:03.00004',
      millis: '23:59:59',
    },
    {
      price: -2.71828,
      item: null,
      large: 1.1,
      list: [],
      map: {},
      structs: null,
      whole: '-1234567890123456789',
      time: null,
      millis: null,
    },
  ]);
  const integers = await collectRows(parquetRows, path.join(fixtures, 'decimals-as-integers.parquet'));
  expect(integers.map(({ value }) => value)).toEqual([{ small: 3.3, long: 12.34 }]);
  await expect(collectRows(parquetRows, path.join(fixtures, 'long-decimals.parquet'))).rejects.toThrow(
    /row 0: column "long" is a decimal .* Save the column as text/,
  );
});

it('refuses bytes, naming the row and the column', async () => {
  await expect(collectRows(parquetRows, path.join(fixtures, 'bytes.parquet'))).rejects.toThrow(
    /bytes\.parquet: row 0: column "image" holds bytes/,
  );
});

it('says of a file that is cut anywhere that it is not whole', async () => {
  const whole = path.join(fixtures, 'rows-zstd.parquet');
  const { length } = readFileSync(whole);
  const cut = path.join(dir, 'cut.parquet');
  for (let size = 0; size < length; size += 97) {
    copyFileSync(whole, cut);
    truncateSync(cut, size);
    await expect(collectRows(parquetRows, cut), `cut at ${size}`).rejects.toThrow(/cannot be read as Parquet/);
  }
});

it('says of other files that they are not Parquet', async () => {
  const file = path.join(dir, 'text.parquet');
  writeFileSync(file, '{"task_id": "a"}\n');
  await expect(collectRows(parquetRows, file)).rejects.toThrow(/cannot be read as Parquet/);
  await expect(collectRows(parquetRows, path.join(dir, 'none.parquet'))).rejects.toThrow(/does not exist/);
});
