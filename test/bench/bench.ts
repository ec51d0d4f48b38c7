/** What a benchmark is: a folder beside this file with a `bench.ts` that exports `run`. */

export type BenchOptions = {
  /** A line for whoever watches. */
  readonly report: (line: string) => void;
  /** What stood on the command line behind the name, `--json` apart. */
  readonly args: readonly string[];
};

export type BenchResult = {
  /** The one line that `--json` prints: what scripts read. */
  readonly summary: { readonly [key: string]: unknown };
  /** Kept in results/<name>.json beside the summary, machine, date and commit. */
  readonly details: { readonly [key: string]: unknown };
};

export type Bench = { readonly run: (options: BenchOptions) => Promise<BenchResult> };

/** The number behind `name` in args, such as `--rounds 5`. */
export function numberOption(args: readonly string[], name: string, fallback: number): number {
  const at = args.indexOf(name);
  if (at < 0) return fallback;
  const value = Number(args[at + 1]);
  if (!(value > 0)) throw new Error(`${name} needs a number above 0; it has ${JSON.stringify(args[at + 1])}.`);
  return value;
}

/** The middle one; the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2;
}
