/** A benchmark is a folder next to this file with a `bench.ts` that exports `run`. */

export type BenchOptions = {
  /** Prints a line about the progress. */
  readonly report: (line: string) => void;
  /** The command line after the name, without `--json`. */
  readonly args: readonly string[];
  /**
   * Resolves when nothing else keeps the machine busy. Throws a TooBusyError if it stays busy. Long benchmarks call it
   * between their rounds.
   */
  readonly waitUntilQuiet: () => Promise<void>;
  /**
   * Keeps a part of the result, so that a later part that fails does not lose it. It needs a clean tree and an earlier
   * result of the whole benchmark, and otherwise does nothing.
   */
  readonly keepPart?: (part: Measured) => void;
};

/** A benchmark, or a part of it, has measured this. */
export type Measured = {
  /** The one line that `--json` prints for scripts. */
  readonly summary: { readonly [key: string]: unknown };
  /** Further figures. They are kept in results/<name>.json next to the summary, machine, date and commit. */
  readonly details: { readonly [key: string]: unknown };
};

export type BenchResult = Measured & {
  /** True if the run measured only some of the summary's keys. The kept result then changes only in these. */
  readonly isPart?: boolean;
};

/** The options of a benchmark and what each does, such as `{ '--rounds <n>': 'default 5' }`. */
export type OptionTexts = Readonly<Record<string, string>>;

export type WallTime = 'one core' | 'all cores';

export type Bench = {
  readonly run: (options: BenchOptions) => Promise<BenchResult>;
  /** Default: the benchmark has no options. */
  readonly optionTexts?: OptionTexts;
  /**
   * Set if the figures are wall time. It says whether the work runs on one core or on all cores. The benchmark then
   * refuses to run on a busy machine. A function decides by the arguments.
   */
  readonly wallTimeOf?: WallTime | ((args: readonly string[]) => WallTime | undefined);
  /** Joins the values of one part of the summary, if several runs measured it, for example one seed each. */
  readonly joinValues?: (part: string, values: readonly unknown[]) => unknown;
};

/** The options that every benchmark takes. */
const commonTexts: OptionTexts = {
  '--out <folder>': 'writes the measured parts into this folder',
  '--join <file>,...': 'measures nothing, and keeps the parts of these files',
  '--json': 'prints the summary as the last line',
  '--help': 'prints this text',
};

/** Describes how a benchmark is called. */
export function describeOptions(name: string, texts: OptionTexts = {}): string {
  const all = Object.entries({ ...texts, ...commonTexts });
  const width = Math.max(...all.map(([option]) => option.length));
  return [
    `npm run bench -- ${name} [options]`,
    '',
    ...all.map(([option, text]) => `  ${option.padEnd(width)}  ${text}`),
  ].join('\n');
}

/** Throws Error for an argument that is neither an option of the benchmark nor the value of one. */
export function requireKnownOptions(name: string, args: readonly string[], texts: OptionTexts = {}): void {
  const known = new Map(Object.keys({ ...texts, ...commonTexts }).map((option) => [option.split(' ')[0], option]));
  for (let at = 0; at < args.length; at++) {
    const option = known.get(args[at]);
    if (option === undefined)
      throw new Error(`The benchmark ${name} has no option ${args[at]}.\n${describeOptions(name, texts)}`);
    if (option.includes(' ')) at++; // its value, which the benchmark checks
  }
}

/** Measures one part after another, and keeps each of them at once. Returns all of them together. */
export async function measureParts<Part extends string>(
  parts: readonly Part[],
  measures: Readonly<Record<Part, () => Promise<Measured>>>,
  keepPart: BenchOptions['keepPart'],
): Promise<Measured> {
  let all: Measured = { summary: {}, details: {} };
  for (const part of parts) {
    const measured = await measures[part]();
    all = { summary: { ...all.summary, ...measured.summary }, details: { ...all.details, ...measured.details } };
    keepPart?.(measured);
  }
  return all;
}

/** Returns the number after `name` in args, such as `--rounds 5`. */
export function numberOption(args: readonly string[], name: string, fallback: number): number {
  const at = args.indexOf(name);
  if (at < 0) return fallback;
  const value = Number(args[at + 1]);
  if (!(value > 0)) throw new Error(`${name} needs a number above 0; it has ${JSON.stringify(args[at + 1])}.`);
  return value;
}

/** Returns the text after `name` in args, such as `--only requests`, or undefined if the name is missing. */
export function textOption(args: readonly string[], name: string): string | undefined {
  const at = args.indexOf(name);
  if (at < 0) return undefined;
  const value = args[at + 1] ?? '';
  if (value !== '' && !value.startsWith('--')) return value;
  throw new Error(`${name} needs a value; it has ${JSON.stringify(value)}.`);
}

/** Returns the one of the allowed values that follows `name` in args, or undefined if the name is missing. */
export function choiceOption<T extends string>(
  args: readonly string[],
  name: string,
  allowed: readonly T[],
): T | undefined {
  const value = textOption(args, name);
  return value === undefined ? undefined : requireAllowed(name, value, allowed);
}

/** Returns the allowed values that args name, such as `--only tasks,kills`, or all of them if the name is missing. */
export function listOption<T extends string>(
  args: readonly string[],
  name: string,
  allowed: readonly T[],
): readonly T[] {
  const named = textOption(args, name)
    ?.split(',')
    .map((value) => requireAllowed(name, value, allowed));
  return allowed.filter((value) => named?.includes(value) ?? true);
}

function requireAllowed<T extends string>(name: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((each) => each === value);
  if (found !== undefined) return found;
  throw new Error(`${name} has ${JSON.stringify(value)}; it takes ${allowed.join(', ')}.`);
}

/** Returns the middle value, or the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2;
}
