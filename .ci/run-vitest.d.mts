export type VitestCounts = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Seconds of each file, imports included. */
  readonly seconds: Readonly<Record<string, number>>;
};

/**
 * Runs vitest with these arguments and prints its report to standard output. `bin` lists folders of another Node, which
 * come first in PATH.
 */
export function runVitest(args: readonly string[], options?: { readonly bin?: readonly string[] }): VitestCounts;
