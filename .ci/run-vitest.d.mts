export type VitestCounts = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly passedTests: readonly string[];
  /** Seconds of each file, imports included. */
  readonly seconds: Readonly<Record<string, number>>;
};

/**
 * Runs vitest with these arguments and prints its report to standard output. `bin` lists folders of another Node, which
 * come first in PATH. `without` names tests that an earlier run has passed, which are skipped.
 */
export function runVitest(
  args: readonly string[],
  options?: { readonly bin?: readonly string[]; readonly without?: readonly string[] },
): VitestCounts;

export function nameOf(file: string, fullName: string): string;
