import { createRandom, deriveSeed, type Random } from '@agentjet/core';
import type { Task, TaskReader } from 'agentjet';

/** Small repairs: a file whose only expression has the wrong operator, and a test that fails because of it. */

const operators = ['+', '-', '*', '/'] as const;
export type Operator = (typeof operators)[number];

/** The name of a function says what it should do. */
const names = { '+': 'sum', '-': 'rest', '*': 'area', '/': 'rate' } as const;

/**
 * A function with a mistake: `name(left, right)` should return `left operator right`, but the file has `written` as
 * operator.
 */
export type Repair = {
  readonly name: string;
  readonly left: number;
  readonly right: number;
  readonly operator: Operator;
  readonly written: Operator;
};

function pick<T>(items: readonly T[], random: Random): T {
  const item = items[random.int(items.length)];
  if (item === undefined) throw new RangeError('Cannot pick from an empty list.');
  return item;
}

function drawRepair(random: Random): Repair {
  const operator = pick(operators, random);
  const others = operators.filter((each) => each !== operator);
  const [small, factor, large] = [2 + random.int(8), 2 + random.int(11), 11 + random.int(89)];
  const numbers = {
    '+': [large, factor],
    '-': [large, small],
    '*': [factor, small],
    '/': [factor * small, small],
  } as const;
  const [left, right] = numbers[operator];
  return { name: names[operator], left, right, operator, written: pick(others, random) };
}

const calculate: Readonly<Record<Operator, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
};

/** Returns the two files of a repair. */
export function writeFilesOf({ name, left, right, operator, written }: Repair): Readonly<Record<string, string>> {
  const wanted = calculate[operator](left, right);
  const call = `${name}(${left}, ${right})`;
  return {
    'code.js': `${name} = (a, b) => a ${written} b`,
    'test.js': [
      `load('code.js');`,
      `if (${call} !== ${wanted}) throw new Error('${call} is ' + ${call} + ', not ${wanted}');`,
    ].join('\n'),
  };
}

export type Split = 'training' | 'evaluation';

/** Returns whether the written operator gives a different result. */
const isBroken = ({ left, right, operator, written }: Repair): boolean =>
  calculate[written](left, right) !== calculate[operator](left, right);

const toTaskId = ({ name, left, right, written }: Repair): string => `${name}(${left},${right}) not ${written}`;

/** The id of a repair decides whether it is for training or, one in eight, for evaluation, so no draw can mix them. */
export function splitOf(taskId: string): Split {
  return deriveSeed(0, 'repairs', taskId) % 8 === 0 ? 'evaluation' : 'training';
}

/** Gives different repairs of one split. The same seed gives the same repairs. */
export function drawTasks(
  split: Split,
  { seed, count }: { readonly seed: number; readonly count: number },
): readonly Task[] {
  const random = createRandom(deriveSeed(seed, split));
  const tasks = new Map<string, Task>();
  while (tasks.size < count) {
    const repair = drawRepair(random);
    const taskId = toTaskId(repair);
    if (!isBroken(repair) || splitOf(taskId) !== split) continue;
    const metadata = { files: writeFilesOf(repair) };
    tasks.set(taskId, { taskId, mainQuery: 'Make test.js pass.', initMessages: [], metadata });
  }
  return [...tasks.values()];
}

/** black_box.yaml names this reader. */
export const repairs: TaskReader = {
  async *trainingTasks() {
    yield* drawTasks('training', { seed: 1, count: 1024 });
  },
  async *evaluationTasks() {
    yield* drawTasks('evaluation', { seed: 1, count: 60 });
  },
};
