/** How rows are read from one kind of file. Every kind gives JSON values; what a row means as a task is decided elsewhere. */
export interface RowFormat {
  readonly name: 'jsonl' | 'json' | 'csv' | 'parquet';
  /** Whether rows come with the place of their bytes, as JSON, in the file itself. */
  readonly isAddressable: boolean;
  /** Where a row is, for messages. */
  showPlace(file: string, place: number): string;
  /** All rows in order. Throws TaskError with file and place. */
  read(file: string): AsyncGenerator<RowBatch>;
}

export type RowBatch = {
  readonly rows: readonly Row[];
  /** Share of the file that has been read: 0 to 1. */
  readonly doneShare: number;
};

export type Row = {
  readonly value: unknown;
  /** A line, from 1, or a row, from 0: what `showPlace` takes. */
  readonly place: number;
  /** Of an addressable format: where the row's JSON is in the file, in bytes. */
  readonly offset?: number;
  readonly length?: number;
};
