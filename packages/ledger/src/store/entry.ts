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

/** Four bytes of CRC-32, then the record as JSON. */
export function encodeRecord(record: LedgerRecord): Buffer {
  const text = Buffer.from(JSON.stringify(record));
  const bytes = Buffer.allocUnsafe(4 + text.length);
  bytes.writeUInt32LE(crc32(text), 0);
  text.copy(bytes, 4);
  return bytes;
}

/** Throws StoreError `damaged` if the bytes are not what was written. `label` names them in the message. */
export function decodeRecord(bytes: Uint8Array, label: string): LedgerRecord {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = whole.subarray(4);
  if (whole.length < 5 || whole.readUInt32LE(0) !== crc32(text)) {
    throw new StoreError(
      'damaged',
      `${label} is damaged: its checksum does not match its ${whole.length} bytes. Restore the store from a copy, or start a new run from the newest checkpoint.`,
    );
  }
  return JSON.parse(text.toString()) as LedgerRecord;
}
