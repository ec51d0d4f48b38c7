/** The part that all versions of the agent share: the prompts, and a calculator without a framework. */

export const systemPrompt = 'Solve the problem with the calculator. Then answer with the number alone.';
export const calculatorDescription = 'Computes two numbers.';
/** An agent gives up after this many model calls. */
export const maxCalls = 4;

const operators: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
};

/** Computes `a + b`, `a - b`, `a * b` or `a / b`; for any other input the answer says what is wrong. */
export function calculate(expression: string): string {
  const [, a, operator = '', b] = /^\s*(\d+)\s*([-+*/])\s*(\d+)\s*$/.exec(expression) ?? [];
  const apply = operators[operator];
  if (apply === undefined) return `cannot read "${expression}"`;
  return String(Math.round(apply(Number(a), Number(b)) * 100) / 100);
}
