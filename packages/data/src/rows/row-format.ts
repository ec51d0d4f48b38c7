/** Reads rows from one kind of file. Every kind returns JSON values; other code decides what a row means as a task. */
export interface RowFormat {
  readonly name: 'jsonl' | 'json' | 'csv' | 'parquet';
  /** Whether each row is JSON in the file itself, at a known byte offset. */
  readonly isAddressable: boolean;
  /** Returns the place of a row, for messages. */
  showPlace(file: string, place: number): string;
  /** Returns all rows in order. Throws TaskError with file and place. */
  read(file: string): AsyncGenerator<RowBatch>;
}

export type RowBatch = {
  readonly rows: readonly Row[];
  /** The share of the file that has been read, 0 to 1. */
  readonly doneShare: number;
};

export type Row = {
  readonly value: unknown;
  /** A line number from 1, or a row number from 0, for `showPlace`. */
  readonly place: number;
  /** For an addressable format: the byte offset of the row's JSON in the file. */
  readonly offset?: number;
  readonly length?: number;
};
