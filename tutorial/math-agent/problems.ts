import type { Random } from '@agentjet/core';

/** Word problems with one step. Each kind asks for one operation. In some kinds the numbers are in the other order. */

export type Operator = '+' | '-' | '*' | '/';

export type Problem = {
  readonly question: string;
  readonly answer: number;
  readonly left: number;
  readonly operator: Operator;
  readonly right: number;
};

/** Returns the operation and the numbers of a question. */
export type Operation = Pick<Problem, 'left' | 'operator' | 'right'>;

type Kind = {
  readonly operator: Operator;
  readonly ask: (left: number, right: number, who: string, what: string) => string;
};

const people = ['Ann', 'Ben', 'Cleo', 'Dan', 'Eve', 'Finn'];
const things = ['apples', 'books', 'coins', 'eggs', 'nuts', 'pens'];

const kinds: readonly Kind[] = [
  {
    operator: '+',
    ask: (a, b, who, what) => `${who} has ${a} ${what} and finds ${b} more. How many ${what} are there now?`,
  },
  {
    operator: '+',
    ask: (a, b, who, what) => `${who} buys ${a} ${what} today and ${b} tomorrow. How many ${what} in all?`,
  },
  { operator: '-', ask: (a, b, who, what) => `${who} has ${a} ${what} and loses ${b}. How many ${what} are left?` },
  { operator: '-', ask: (a, b, who, what) => `${who} sells ${b} of the ${a} ${what}. How many ${what} remain?` },
  {
    operator: '*',
    ask: (a, b, who, what) => `${who} fills ${a} bags with ${b} ${what} each. How many ${what} in the bags?`,
  },
  { operator: '*', ask: (a, b, who, what) => `${who} pays ${a} for each of ${b} ${what}. What do the ${what} cost?` },
  {
    operator: '/',
    ask: (a, b, who, what) => `${who} shares ${a} ${what} among ${b} friends. How many ${what} for each friend?`,
  },
  {
    operator: '/',
    ask: (a, b, who, what) => `${who} makes ${b} equal heaps of ${a} ${what}. How many ${what} in a heap?`,
  },
];

function drawNumbers(
  operator: Operator,
  random: Random,
): { readonly left: number; readonly right: number; readonly answer: number } {
  const small = 2 + random.int(8);
  const factor = 2 + random.int(11);
  const large = 11 + random.int(89);
  if (operator === '+') return { left: large, right: factor, answer: large + factor };
  if (operator === '-') return { left: large, right: small, answer: large - small };
  if (operator === '*') return { left: factor, right: small, answer: factor * small };
  return { left: factor * small, right: small, answer: factor };
}

function pick<T>(items: readonly T[], random: Random): T {
  const item = items[random.int(items.length)];
  if (item === undefined) throw new RangeError('Cannot pick from an empty list.');
  return item;
}

/** The operation that a question of `createProblem` asks for. */
export function readProblem(question: string): Operation {
  const [first = 0, second = 0] = (question.match(/\d+/g) ?? []).map(Number);
  const orders = [
    { left: first, right: second },
    { left: second, right: first },
  ];
  for (const { operator, ask } of kinds) {
    const order = orders.find(({ left, right }) =>
      people.some((who) => things.some((what) => ask(left, right, who, what) === question)),
    );
    if (order !== undefined) return { ...order, operator };
  }
  throw new RangeError(`"${question}" is not a problem of this collection.`);
}

export function createProblem(random: Random): Problem {
  const { operator, ask } = pick(kinds, random);
  const { left, right, answer } = drawNumbers(operator, random);
  return { question: ask(left, right, pick(people, random), pick(things, random)), answer, left, operator, right };
}
