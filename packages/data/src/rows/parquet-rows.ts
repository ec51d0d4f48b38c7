import { open } from 'node:fs/promises';
import { TaskError, toErrorMessage } from '@agentjet/core';
import type { AsyncBuffer, FileMetaData } from 'hyparquet';
import { findLeaves, withRawDecimals, type Leaf } from './parquet-leaves.js';
import { timeParsers, toJsonValue } from './parquet-values.js';
import type { RowBatch, RowFormat } from './row-format.js';
import { checkTaskFile } from './text-lines.js';

/** A row group may hold a million rows. At most this many are converted to objects at a time. */
const rowsAtOnce = 50_000;
/**
 * The number of rows in a batch. Batches are small, because the garbage collector copies objects that live long. The
 * objects of a small batch are dropped before that.
 */
const rowsPassedOn = 2_000;

/** Parquet files, with every codec that pyarrow writes. */
export const parquetRows: RowFormat = {
  name: 'parquet',
  isAddressable: false,
  showPlace: (file, place) => `${file}: row ${place}`,
  async *read(file): AsyncGenerator<RowBatch> {
    await checkTaskFile(file);
    const handle = await open(file);
    try {
      yield* readRows(file, await bufferOf(handle));
    } finally {
      await handle.close();
    }
  },
};

async function bufferOf(handle: Awaited<ReturnType<typeof open>>): Promise<AsyncBuffer> {
  const { size } = await handle.stat();
  return {
    byteLength: size,
    async slice(start, end = size) {
      const bytes = new Uint8Array(end - start);
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
      return bytes.buffer.slice(0, bytesRead);
    },
  };
}

async function* readRows(file: string, buffer: AsyncBuffer): AsyncGenerator<RowBatch> {
  const [{ parquetMetadataAsync, parquetReadObjects }, { compressors }] = await Promise.all([
    import('hyparquet'),
    import('hyparquet-compressors'),
  ]);
  const reading = <T>(read: Promise<T>): Promise<T> =>
    read.catch((error: unknown) => Promise.reject(broken(file, error)));
  const described = await reading(parquetMetadataAsync(buffer));
  const leaves = findLeaves(described);
  const metadata = withRawDecimals(described);
  const numRows = Number(metadata.num_rows);
  for (const [from, to] of slices(metadata)) {
    const options = {
      file: buffer,
      metadata,
      rowStart: from,
      rowEnd: to,
      compressors,
      utf8: false,
      parsers: timeParsers,
    };
    const objects = await reading(parquetReadObjects(options));
    if (objects.length !== to - from) throw broken(file, `rows ${from} to ${to} are not all there`);
    for (let done = 0; done < objects.length; done += rowsPassedOn) {
      const rows = objects.slice(done, done + rowsPassedOn).map((object, at) => ({
        value: toRow(object, leaves, `${file}: row ${from + done + at}`),
        place: from + done + at,
      }));
      yield { rows, doneShare: (from + done + rows.length) / numRows };
    }
  }
}

/** Returns row groups, and divides large ones. */
function* slices({ row_groups: groups }: FileMetaData): Generator<readonly [from: number, to: number]> {
  let start = 0;
  for (const { num_rows } of groups) {
    const end = start + Number(num_rows);
    for (let from = start; from < end; from += rowsAtOnce) yield [from, Math.min(end, from + rowsAtOnce)];
    start = end;
  }
}

const noLeaves: readonly Leaf[] = [];

function toRow(
  object: Readonly<Record<string, unknown>>,
  leaves: ReadonlyMap<string, readonly Leaf[]>,
  where: string,
): Readonly<Record<string, unknown>> {
  const values = Object.values(object);
  if (values.every((value) => typeof value === 'string')) return object;
  return Object.fromEntries(
    Object.entries(object).map(([column, value]) => {
      if (typeof value === 'string') return [column, value];
      return [column, toJsonValue(value, { where, column, leaves: leaves.get(column) ?? noLeaves })];
    }),
  );
}

function broken(file: string, error: unknown): TaskError {
  if (error instanceof TaskError) return error;
  return new TaskError(
    'bad_parquet',
    `${file} cannot be read as Parquet: ${toErrorMessage(error)}. The file may be cut short: compare its size with the source.`,
    { cause: error },
  );
}
