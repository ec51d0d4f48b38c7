import { createRandom, deriveSeed, type Random } from '@agentjet/core';

/** Problems of the game countdown with two numbers: reach the target with both of them and one of + - * /. */
export type Problem = { readonly numbers: readonly [number, number]; readonly target: number };

function createProblem(random: Random): Problem {
  const small = 2 + random.int(8);
  const factor = 2 + random.int(11);
  const large = 11 + random.int(89);
  const kinds = [
    { left: large, right: factor, target: large + factor },
    { left: large, right: small, target: large - small },
    { left: factor, right: small, target: factor * small },
    { left: factor * small, right: small, target: factor },
  ];
  const { left, right, target } = kinds[random.int(kinds.length)] ?? { left: 1, right: 1, target: 2 };
  return { numbers: random.next() < 0.5 ? [left, right] : [right, left], target };
}

const toKey = ({ numbers, target }: Problem): string => `${numbers.toSorted((a, b) => a - b).join('-')}-${target}`;

/** A hash of the problem decides its split: one problem in eight is for evaluation. So no seed can mix the splits. */
export type Split = 'training' | 'evaluation';

export function splitOf(problem: Problem): Split {
  return deriveSeed(0, 'countdown', toKey(problem)) % 8 === 0 ? 'evaluation' : 'training';
}

/** Gives different problems of one split. The same seed gives the same problems. */
export function drawProblems(
  split: Split,
  { seed, count }: { readonly seed: number; readonly count: number },
): readonly Problem[] {
  const random = createRandom(deriveSeed(seed, split));
  const problems = new Map<string, Problem>();
  while (problems.size < count) {
    const problem = createProblem(random);
    if (splitOf(problem) === split && !problems.has(toKey(problem))) problems.set(toKey(problem), problem);
  }
  return [...problems.values()];
}

/** Writes the question in words that nano has learned. */
function ask({ numbers: [first, second], target }: Problem): string {
  return `Ann has ${first} and ${second}. How many make ${target}?`;
}

/** A row of `data/<split>.parquet`. */
export type Row = Problem & { readonly id: string; readonly question: string };

export function toRows(split: Split): readonly Row[] {
  const problems = drawProblems(split, { seed: 1, count: split === 'training' ? 1024 : 100 });
  return problems.map((problem) => ({ id: toKey(problem), question: ask(problem), ...problem }));
}

if (process.argv[1] === import.meta.filename)
  process.stdout.write(
    toRows(process.argv[2] === 'evaluation' ? 'evaluation' : 'training')
      .map((row) => `${JSON.stringify(row)}\n`)
      .join(''),
  );
