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
