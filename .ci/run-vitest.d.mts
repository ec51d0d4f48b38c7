export type VitestCounts = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Of each file, imports included. */
  readonly seconds: Readonly<Record<string, number>>;
};

/** Runs vitest with these arguments; its report goes to the standard output. `bin`: folders of another Node, in front of PATH. */
export function runVitest(args: readonly string[], options?: { readonly bin?: readonly string[] }): VitestCounts;
