/** The part of sql.js that we use. The package has no types. */
declare module 'sql.js' {
  export type Rows = { readonly columns: readonly string[]; readonly values: readonly unknown[][] };
  export class Database {
    constructor(bytes?: Uint8Array);
    exec(sql: string): readonly Rows[];
    run(sql: string, values?: readonly unknown[]): void;
    export(): Uint8Array;
    close(): void;
  }
  export default function open(): Promise<{ readonly Database: typeof Database }>;
}
