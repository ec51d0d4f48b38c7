import { crc32 } from 'node:zlib';
import { Scratch } from './scratch.js';
import { StoreError } from './store-error.js';
import type { LedgerRecord, RecordKind } from '../records.js';
import type { StoreEntry } from './store-entry.js';

/** Kinds of records that are needed until the end of the run, independently of groups. */
const lasting: ReadonlySet<RecordKind> = new Set([
  'finished',
  'evaluation',
  'checkpoint',
  'rewound',
  'incarnation',
  'recovered',
  'operation',
  'config',
  'task',
  'key',
  'audit',
]);

export const isLasting = ({ record }: StoreEntry): boolean => lasting.has(record.kind);

/**
 * Writes four bytes of CRC-32, then the record as JSON. Its `content`, if any, is separate and follows after a zero
 * byte, because it may be large and a fold does not need it. Its `bytes` come last, after another zero byte: first
 * their number and the length of each, with four bytes per number, then the bytes themselves. `room`: the number of
 * free bytes at the start. `scratch`: memory for the result; without it, new memory is allocated.
 */
export function encodeRecord(record: LedgerRecord, room = 0, scratch = new Scratch(0)): Buffer {
  const { own, content, blobs } = toParts(record);
  const start = room + 4;
  const most = start + roomFor(own) + 1 + roomFor(content ?? '') + 1 + sizeOf(blobs);
  const taken = scratch.take(most);
  let end = start + taken.write(own, start);
  if (content !== undefined) {
    taken[end] = 0;
    end += 1 + taken.write(content, end + 1);
  }
  if (blobs !== undefined) {
    taken[end] = 0;
    end = writeBlobs(taken, end + 1, blobs);
  }
  const whole = scratch.trim(taken, end);
  whole.writeUInt32LE(crc32(whole.subarray(start)), room);
  return whole;
}

/**
 * Reads a record. Throws StoreError `damaged` if its checksum does not match. `label` names the record in the message.
 * If `isWhole` is false, a call, a memo or an end is returned without its content and its bytes. `covered` is the
 * checksum of the other data that the record's checksum covers.
 */
export function decodeRecord(
  bytes: Uint8Array,
  label: string,
  { isWhole = true, covered = 0 }: { readonly isWhole?: boolean; readonly covered?: number } = {},
): LedgerRecord {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = whole.subarray(4);
  if (whole.length < 5 || whole.readUInt32LE(0) !== (crc32(text) ^ covered) >>> 0) {
    throw new StoreError(
      'damaged',
      `${label} is damaged: its checksum does not match its ${whole.length} bytes. Restore the store from a copy, or start a new run from the newest checkpoint.`,
    );
  }
  const end = text.indexOf(0);
  if (end === -1) return JSON.parse(text.toString()) as LedgerRecord;
  const record = JSON.parse(text.toString('utf8', 0, end)) as LedgerRecord;
  if (!isWhole && bulky.has(record.kind)) return record;
  const next = text.indexOf(0, end + 1); // JSON contains no zero byte
  const contentEnd = next === -1 ? text.length : next;
  return {
    ...record,
    ...(contentEnd > end + 1 && { content: JSON.parse(text.toString('utf8', end + 1, contentEnd)) as unknown }),
    ...(next !== -1 && { bytes: readBlobs(text, next + 1) }),
  } as LedgerRecord;
}

type Blobs = readonly Uint8Array[];

type Parts = { readonly own: string; readonly content: string | undefined; readonly blobs: Blobs | undefined };

function toParts(record: LedgerRecord): Parts {
  const { content, bytes: blobs } = record as LedgerRecord & { readonly content?: unknown; readonly bytes?: Blobs };
  const isApart = content !== undefined && content !== null;
  if (!isApart && blobs === undefined) return { own: JSON.stringify(record), content: undefined, blobs };
  // The two keys become undefined, because JSON leaves out undefined values. This is cheaper than removing the keys.
  const own = JSON.stringify({ ...record, content: isApart ? undefined : content, bytes: undefined });
  return { own, content: isApart ? JSON.stringify(content) : '', blobs };
}

function sizeOf(blobs: Blobs | undefined): number {
  return blobs === undefined ? 0 : blobs.reduce((size, blob) => size + 4 + blob.length, 4);
}

/**
 * Returns the maximum number of bytes of a string. A letter takes at most three bytes. Short strings are not counted,
 * because counting costs more than unused bytes.
 */
const roomFor = (text: string): number => (text.length < 10_000 ? 3 * text.length : Buffer.byteLength(text));

/** Writes the number of blobs, their lengths and their bytes. Returns the position after them. */
function writeBlobs(into: Buffer, start: number, blobs: Blobs): number {
  let at = into.writeUInt32LE(blobs.length, start);
  for (const { length } of blobs) at = into.writeUInt32LE(length, at);
  for (const blob of blobs) {
    into.set(blob, at);
    at += blob.length;
  }
  return at;
}

function readBlobs(from: Buffer, start: number): Blobs {
  const count = from.readUInt32LE(start);
  let at = start + 4 + 4 * count;
  return Array.from({ length: count }, (_none, index) => {
    const length = from.readUInt32LE(start + 4 + 4 * index);
    at += length;
    return from.subarray(at - length, at);
  });
}

/** Kinds whose content may be large. Only readers of a single record need it. */
const bulky: ReadonlySet<RecordKind> = new Set(['call', 'memo', 'end']);
