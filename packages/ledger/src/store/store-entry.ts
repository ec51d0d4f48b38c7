import type { LedgerRecord } from '../records.js';

/**
 * A record with its position in the whole run. The sequence number makes the fold independent of files: a copy of an
 * entry has the same number and is applied once.
 */
export type StoreEntry = {
  readonly sequence: number;
  readonly record: LedgerRecord;
  /** Whether it is a copy of a record that must outlive its first file. */
  readonly isCarried?: boolean;
};
