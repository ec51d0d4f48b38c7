import { parquetWriteFile } from 'hyparquet-writer';

type Rows = { readonly rows: number; readonly rowOf: (at: number) => Readonly<Record<string, string>> };

/** Writes columns of strings, in row groups of a hundred thousand rows. */
export function writeParquet(file: string, { rows, rowOf }: Rows): void {
  const names = Object.keys(rowOf(0));
  parquetWriteFile({
    filename: file,
    rowGroupSize: 100_000,
    columnData: names.map((name) => ({
      name,
      type: 'STRING',
      data: Array.from({ length: rows }, (_, at) => rowOf(at)[name] ?? ''),
    })),
  });
}
