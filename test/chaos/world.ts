import { createRandom, deriveSeed, type Random } from '@agentjet/core';

/** Counters that must be 0. If a case increases one of them, the case is reported. */
const problems = ['wrong_ends', 'silent_differences', 'stack_traces', 'hangs', 'let_in'] as const;
export type Problem = (typeof problems)[number];
export type Tried = 'kills' | 'mutations' | 'requests';

/** A case that went wrong. `seed`, `attack` and `index` replay it. */
export type Finding = {
  readonly problem: Problem;
  readonly attack: string;
  readonly seed: number;
  readonly index: number;
  readonly drawn: unknown;
  readonly words: string;
};

/**
 * One case as an attack sees it. Everything in it is drawn from `random`, so the same seed and index give the same
 * case.
 */
export type Case = {
  readonly index: number;
  readonly random: Random;
  readonly found: (problem: Problem, drawn: unknown, words: string) => void;
};

export type Attack = {
  readonly name: string;
  readonly runCase: (each: Case) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Shared by all attacks: the folder where they work, and what they have tried and found. */
export type World = {
  readonly seed: number;
  /** A scratch folder. */
  readonly folder: string;
  readonly counts: Record<Tried, number>;
  readonly findings: Finding[];
};

export const createWorld = (seed: number, folder: string): World => ({
  seed,
  folder,
  counts: { kills: 0, mutations: 0, requests: 0 },
  findings: [],
});

/** Runs one case of an attack. If the attack throws an error, the attack has a defect, and all attacks end. */
export async function runCase({ seed, findings }: World, attack: Attack, index: number): Promise<void> {
  await attack.runCase({
    index,
    random: createRandom(deriveSeed(seed, attack.name, index)),
    found: (problem, drawn, words) => {
      const finding = { problem, attack: attack.name, seed, index, drawn, words };
      findings.push(finding);
      console.error(JSON.stringify({ ...finding, words: words.slice(0, 1500) }));
    },
  });
}

export const countProblems = ({ findings }: World): Record<Problem, number> => {
  const count = (problem: Problem): number => findings.filter((finding) => finding.problem === problem).length;
  return {
    wrong_ends: count('wrong_ends'),
    silent_differences: count('silent_differences'),
    stack_traces: count('stack_traces'),
    hangs: count('hangs'),
    let_in: count('let_in'),
  };
};

export function pick<T>(random: Random, values: readonly T[]): T {
  const value = values[random.int(values.length)];
  if (value === undefined) throw new Error('There is nothing to pick from.');
  return value;
}

/** Matches a stack, or the path of a source file, in output that a person should be able to read. */
export const looksLikeStack = (text: string): boolean =>
  /\n\s+at .+[:(]\d+|something unexpected happened|node:internal/.test(text);
