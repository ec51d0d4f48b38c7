import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { evaluateExactly } from './expression.js';
import { readExpression } from './read-expression.js';

/** A formula of whole numbers with random spaces, and its value as JavaScript computes it. */
const { formula } = fc.letrec<{ formula: string; atom: string }>((tie) => ({
  atom: fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 20 }).map(String) },
    tie('formula').map((inside) => `(${inside})`),
  ),
  formula: fc.oneof(
    { maxDepth: 4 },
    tie('atom'),
    fc
      .tuple(
        tie('atom'),
        fc.constantFrom('+', ' - ', '*', ' *  '),
        tie('atom'),
        fc.constantFrom('+', '-', '*'),
        tie('atom'),
      )
      .map((parts) => parts.join('')),
  ),
}));

it('computes what the language computes, with its order of operations', () => {
  fc.assert(
    fc.property(formula, (text) => {
      const expression = readExpression(text, { hasAlgebra: false });
      const value = expression && evaluateExactly(expression, () => null);
      const expected: unknown = runInNewContext(text);
      if (Number.isSafeInteger(expected)) expect(value?.valueOf()).toBe(expected);
    }),
  );
});

it('takes signs from the left and powers from the right', () => {
  const valueOf = (text: string) => {
    const expression = readExpression(text, { hasAlgebra: true });
    return expression && evaluateExactly(expression, () => null)?.toFraction();
  };
  expect([valueOf('8-3-2'), valueOf('8/2/2'), valueOf('2^3^2'), valueOf('-2^2'), valueOf('2^-1')]).toEqual([
    '3',
    '2',
    '512',
    '-4',
    '1/2',
  ]);
});

it('ends for every text', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), fc.boolean(), (text, hasAlgebra) => {
      const expression = readExpression(text, { hasAlgebra });
      if (expression !== null) evaluateExactly(expression, () => null);
    }),
  );
});
