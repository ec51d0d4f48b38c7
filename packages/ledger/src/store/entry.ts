import { crc32 } from 'node:zlib';
import { StoreError } from './store-error.js';
import type { LedgerRecord, RecordKind } from '../records.js';

/**
 * A record with its place in the order of the whole run. The sequence number makes the fold independent of files: a copy
 * of an entry has the same number, and is applied once.
 */
export type Entry = {
  readonly sequence: number;
  readonly record: LedgerRecord;
  /** A copy of a record that has to outlive its first file. */
  readonly isCarried?: boolean;
};

/** Records that matter as long as the run does, whatever becomes of groups. */
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

export const isLasting = ({ record }: Entry): boolean => lasting.has(record.kind);

/**
 * Four bytes of CRC-32, then the record as JSON. Its `content`, if it has one, comes last, after a zero byte: it may be large,
 * and a fold does not need it.
 */
export function encodeRecord(record: LedgerRecord): Buffer {
  const text = Buffer.from(toText(record));
  const bytes = Buffer.allocUnsafe(4 + text.length);
  bytes.writeUInt32LE(crc32(text), 0);
  text.copy(bytes, 4);
  return bytes;
}

/**
 * Throws StoreError `damaged` if the bytes are not what was written. `label` names them in the message. Unless it is to be
 * whole, a call, a memo or an end comes without its content.
 */
export function decodeRecord(
  bytes: Uint8Array,
  label: string,
  { isWhole = true }: { readonly isWhole?: boolean } = {},
): LedgerRecord {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = whole.subarray(4);
  if (whole.length < 5 || whole.readUInt32LE(0) !== crc32(text)) {
    throw new StoreError(
      'damaged',
      `${label} is damaged: its checksum does not match its ${whole.length} bytes. Restore the store from a copy, or start a new run from the newest checkpoint.`,
    );
  }
  const end = text.indexOf(0);
  if (end === -1) return JSON.parse(text.toString()) as LedgerRecord;
  const record = JSON.parse(text.toString('utf8', 0, end)) as LedgerRecord;
  if (!isWhole && bulky.has(record.kind)) return record;
  return { ...record, content: JSON.parse(text.toString('utf8', end + 1)) as unknown } as LedgerRecord;
}

function toText(record: LedgerRecord): string {
  if (!('content' in record) || record.content === undefined || record.content === null) return JSON.stringify(record);
  const { content, ...head } = record;
  return `${JSON.stringify(head)}\0${JSON.stringify(content)}`;
}

/** Of these the content may be large, and nobody asks for it but those who look for one record. */
const bulky: ReadonlySet<RecordKind> = new Set(['call', 'memo', 'end']);
