import { tool } from '@langchain/core/tools';
import { z } from 'zod';

const operators: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
};

/** Computes `a + b`, `a - b`, `a * b` or `a / b`; anything else is answered with what is wrong. */
export function calculate(expression: string): string {
  const [, a, operator = '', b] = /^\s*(\d+)\s*([-+*/])\s*(\d+)\s*$/.exec(expression) ?? [];
  const apply = operators[operator];
  if (apply === undefined) return `cannot read "${expression}"`;
  return String(Math.round(apply(Number(a), Number(b)) * 100) / 100);
}

export const calculator = tool(({ expression }) => calculate(expression), {
  name: 'calculator',
  description: 'Computes two numbers.',
  schema: z.object({ expression: z.string() }),
});
