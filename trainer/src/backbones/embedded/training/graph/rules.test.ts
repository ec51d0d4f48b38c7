import { describe, expect, test } from 'vitest';
import { gradientError, inputAt, type GradientCase } from '../../../../testing/gradient-check.js';
import {
  add,
  compare,
  divide,
  exponential,
  maximum,
  minimum,
  multiply,
  negate,
  reciprocal,
  sigmoid,
  silu,
  square,
  squareRoot,
  subtract,
  toFloat,
} from './elementwise.js';
import { gather, gatherUnique } from './gather.js';
import { gemm, matmul } from './matmul.js';
import { expand, sum, sumToShape } from './reduce.js';
import { concat, reshape, split, transpose } from './reshape.js';
import { softmax } from './softmax.js';
import type { Value } from './value.js';

type Case = GradientCase & { readonly name: string };

const positive = (uniform: number): number => Math.abs(uniform) + 0.5;
/** Elements are at least 0.05 from 0, so no kink is within a difference quotient's step. */
const awayFromZero = (uniform: number): number => uniform + Math.sign(uniform) * 0.05;

const unaryOf = (rule: (value: Value) => Value) => (_: unknown, inputs: readonly Value[]) => rule(inputAt(inputs, 0));
const binaryOf = (rule: (left: Value, right: Value) => Value) => (_: unknown, inputs: readonly Value[]) =>
  rule(inputAt(inputs, 0), inputAt(inputs, 1));

const elementwise: readonly Case[] = [
  ...Object.entries({ add, subtract, multiply, divide, minimum, maximum }).flatMap(([name, rule]) => [
    {
      name,
      shapes: [
        [3, 4],
        [3, 4],
      ],
      build: binaryOf(rule),
      element: positive,
    },
    {
      name: `${name}, broadcast`,
      shapes: [
        [2, 3, 4],
        [3, 1],
      ],
      build: binaryOf(rule),
      element: positive,
    },
    { name: `${name}, more axes on the right`, shapes: [[4], [2, 1, 4]], build: binaryOf(rule), element: positive },
  ]),
  ...Object.entries({ negate, exponential, sigmoid, square, silu }).map(([name, rule]) => ({
    name,
    shapes: [[3, 4]],
    build: unaryOf(rule),
  })),
  ...Object.entries({ squareRoot, reciprocal }).map(([name, rule]) => ({
    name,
    shapes: [[3, 4]],
    build: unaryOf(rule),
    element: positive,
  })),
  {
    name: 'a number as operand',
    shapes: [[3]],
    build: unaryOf((value) => subtract(2, multiply(divide(value, 3), value))),
  },
  {
    name: 'a cast comparison is constant',
    shapes: [[8]],
    element: awayFromZero,
    build: (graph, inputs) =>
      multiply(inputAt(inputs, 0), toFloat(compare('Greater', inputAt(inputs, 0), graph.scalar(0)))),
  },
];

const moving: readonly Case[] = [
  { name: 'sum over axes', shapes: [[2, 3, 4, 5]], build: unaryOf((value) => sum(square(value), [1, -1])) },
  { name: 'expand', shapes: [[3, 1]], build: unaryOf((value) => square(expand(square(value), [2, 3, 4]))) },
  { name: 'sumToShape', shapes: [[2, 3, 4]], build: unaryOf((value) => square(sumToShape(value, [3, 1]))) },
  {
    name: 'reshape and transpose',
    shapes: [[2, 3, 4, 5]],
    build: unaryOf((value) => square(reshape(transpose(value, [0, 2, 1, 3]), [8, 15]))),
  },
  {
    name: 'concat',
    shapes: [
      [2, 3],
      [2, 5],
    ],
    build: binaryOf((left, right) => square(concat([left, square(right)], 1))),
  },
  {
    name: 'split',
    shapes: [[2, 8]],
    build: unaryOf((value) => {
      const [left, right] = split(value, [3, 5], -1);
      return add(sum(square(inputAt([left ?? value], 0)), [1]), sum(inputAt([right ?? value], 0), [1]));
    }),
  },
  {
    name: 'a value used twice',
    shapes: [[3, 3]],
    build: unaryOf((value) => add(multiply(value, exponential(value)), matmul(value, value))),
  },
];

const products: readonly Case[] = [true, false].flatMap((transposeLeft) =>
  [true, false].flatMap((transposeRight) => [
    {
      name: `gemm ${transposeLeft} ${transposeRight}`,
      shapes: [transposeLeft ? [5, 3] : [3, 5], transposeRight ? [4, 5] : [5, 4], [4]],
      build: (_: unknown, inputs: readonly Value[]) =>
        gemm(inputAt(inputs, 0), inputAt(inputs, 1), {
          transposeLeft,
          transposeRight,
          scale: 0.7,
          bias: inputAt(inputs, 2),
        }),
    },
    {
      name: `matmul ${transposeLeft} ${transposeRight}`,
      shapes: [transposeLeft ? [2, 3, 5, 3] : [2, 3, 3, 5], transposeRight ? [2, 3, 4, 5] : [2, 3, 5, 4]],
      build: (_: unknown, inputs: readonly Value[]) =>
        matmul(inputAt(inputs, 0), inputAt(inputs, 1), { transposeLeft, transposeRight, scale: 0.7 }),
    },
  ]),
);

const softmaxes: readonly Case[] = [
  {
    name: 'matmul, broadcast',
    shapes: [
      [2, 3, 4, 5],
      [5, 6],
    ],
    build: binaryOf((left, right) => matmul(left, right)),
  },
  { name: 'softmax', shapes: [[3, 7]], build: unaryOf(softmax) },
];

const gathers: readonly Case[] = [
  {
    name: 'gather with repeated indices',
    shapes: [[6, 4]],
    integers: [{ data: [0, 3, 3, 5, 1, 3, 0, 2], shape: [8] }],
    build: (_, inputs, integers) => square(gather(inputAt(inputs, 0), inputAt(integers, 0))),
  },
  {
    name: 'gather of a vector',
    shapes: [[6]],
    integers: [{ data: [0, 3, 3, 5], shape: [4] }],
    build: (_, inputs, integers) => square(gather(inputAt(inputs, 0), inputAt(integers, 0))),
  },
  {
    name: 'gatherUnique',
    shapes: [[5, 3]],
    integers: [
      { data: [4, 0, 2], shape: [3] },
      { data: [1, 3, 2, 3, 0], shape: [5] },
    ],
    build: (_, inputs, integers) =>
      square(gatherUnique(inputAt(inputs, 0), inputAt(integers, 0), inputAt(integers, 1))),
  },
];

describe('gradients equal difference quotients in double precision', () => {
  test.each([...elementwise, ...moving, ...products, ...softmaxes, ...gathers])('$name', async (testCase) => {
    expect(await gradientError(testCase)).toBeLessThan(1e-7);
  });
});

describe('fused operators have the same gradients in single precision', () => {
  const fused = [...products, ...elementwise.filter(({ name }) => name === 'silu')];
  test.each(fused)('$name', async (testCase) => {
    expect(await gradientError({ ...testCase, options: { isFused: true } })).toBeLessThan(2e-3);
  });
});
