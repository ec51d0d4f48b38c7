import { TaskError } from '@agentjet/core';
import type { ParquetParsers } from 'hyparquet';
import { leavesBelow, type Leaf } from './parquet-leaves.js';

/** Times keep their full precision in ISO 8601; a Date would cut them to milliseconds. */
export const timeParsers: Partial<ParquetParsers> = {
  timestampFromMilliseconds: (value) => toTime(BigInt(value), 1000n),
  timestampFromMicroseconds: (value) => toTime(BigInt(value), 1_000_000n),
  timestampFromNanoseconds: (value) => toTime(BigInt(value), 1_000_000_000n),
  dateFromDays: (days) => new Date(days * 86_400_000).toISOString().slice(0, 10),
};

function toTime(value: bigint | null | undefined, perSecond: bigint): string | null {
  if (value === null || value === undefined) return null;
  const rest = ((value % perSecond) + perSecond) % perSecond;
  const seconds = new Date(Number((value - rest) / perSecond) * 1000).toISOString().slice(0, 19);
  const digits = rest
    .toString()
    .padStart(perSecond.toString().length - 1, '0')
    .replace(/0+$/, '');
  return `${seconds}${digits === '' ? '' : `.${digits}`}Z`;
}

/** The position of a value: its row, its column with the fields of structs, and the leaves from there. */
export type ValuePlace = { readonly where: string; readonly column: string; readonly leaves: readonly Leaf[] };

/**
 * Converts a Parquet value to JSON. 64-bit integers and decimals become numbers if those are exact, otherwise strings.
 * NaN and infinite numbers become null, because JSON lacks them. Throws TaskError for bytes, with the row and the
 * column.
 */
export function toJsonValue(value: unknown, place: ValuePlace): unknown {
  const { where, column, leaves } = place;
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof Uint8Array)))
    return Array.from(value as ArrayLike<unknown>, (inner) => toJsonValue(inner, place));
  const leaf = leaves.find(({ names }) => names.length === 0);
  if (leaf !== undefined) return leaf.read(value ?? null, `${where}: column "${column}"`);
  if (typeof value === 'bigint') return toInteger(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (value === undefined) return null;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array)
    throw new TaskError(
      'bad_task',
      `${where}: column "${column}" holds bytes, which a task cannot contain. Save the data without it, or as text.`,
    );
  const inner = (name: string, within: unknown): unknown =>
    toJsonValue(within, { where, column: `${column}.${name}`, leaves: leavesBelow(leaves, name) });
  return Object.fromEntries(Object.entries(value).map(([name, within]) => [name, inner(name, within)]));
}

function toInteger(value: bigint): number | string {
  return BigInt(Number(value)) === value && Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
}
