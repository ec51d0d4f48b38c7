import { expect, test } from 'vitest';
import { gradientError, inputAt, type GradientCase } from '../../../../testing/gradient-check.js';
import { add, multiply, square } from '../graph/elementwise.js';
import { reshape } from '../graph/reshape.js';
import { attention } from './attention.js';
import { gatedSilu } from './gated-silu.js';
import { addLowRank } from './low-rank.js';
import { pathGather } from './path-gather.js';
import { rmsNorm } from './rms-norm.js';
import { rope } from './rope.js';
import { frozenHead, type HeadUse } from './frozen-head.js';
import { tokenLogprobs } from './token-logprobs.js';
import type { Graph } from '../graph/graph.js';
import type { Value } from '../graph/value.js';

type Case = GradientCase & { readonly name: string };
type Build = GradientCase['build'];

function constant(graph: Graph, shape: readonly number[], numbers: readonly number[]): Value {
  return graph.initializer(
    shape,
    graph.floatType === 'float32' ? Float32Array.from(numbers) : Float64Array.from(numbers),
  );
}

/** Tables with ten positions and two frequencies. */
function rotated(graph: Graph, value: Value, positions: Value): Value {
  const angles = Array.from({ length: 20 }, (_, index) => Math.floor(index / 2) * (index % 2 === 0 ? 1 : 0.1));
  const table = (of: (angle: number) => number) => constant(graph, [10, 2], angles.map(of));
  const positions64 = graph.node(
    'Cast',
    [positions],
    { shape: positions.shape, type: 'int64' },
    { attributes: { to: 7 } },
  );
  return rope(value, { cos: table(Math.cos), sin: table(Math.sin), positions: positions64 }, 2);
}

const attended: Build = (graph, inputs) => {
  const bias = constant(graph, [1, 1, 3, 3], [0, -1e9, -1e9, 0, 0, -1e9, 0, -1e9, 0]);
  return attention({
    query: inputAt(inputs, 0),
    key: inputAt(inputs, 1),
    value: inputAt(inputs, 2),
    bias,
    scoreShape: [2, 4, 3, 3],
    scale: 0.6,
  });
};

const scored: Build = (_, inputs, integers) => {
  const { logprobs, entropies } = tokenLogprobs({
    logits: inputAt(inputs, 0),
    rows: inputAt(integers, 0),
    targets: inputAt(integers, 1),
  });
  return add(square(logprobs), multiply(reshape(square(entropies), [4, 1]), inputAt(inputs, 1)));
};

/** The hidden states of two chunks, or of more chunks than rows. */
const scoredByHead =
  (use: HeadUse, numChunks: number): Build =>
  (graph, inputs, integers) => {
    const head = constant(
      graph,
      [5, 3],
      Array.from({ length: 15 }, (_, index) => Math.sin(3 * index)),
    );
    const { logprobs, entropies } = frozenHead({
      hidden: inputAt(inputs, 0),
      head,
      rows: inputAt(integers, 0),
      targets: inputAt(integers, 1),
      use,
      numChunks,
    });
    if (entropies === undefined) throw new Error('A graph with gradients has entropies.');
    const first = multiply(square(logprobs), inputAt(inputs, 1));
    return use === 'gradients' ? first : add(reshape(first, [5, 1]), square(entropies));
  };

/** Both adapters read a value that their gradient computes again. */
const adapted: Build = (_, inputs) => {
  const [gate, weight, a, b] = [0, 1, 2, 3].map((index) => inputAt(inputs, index)) as [Value, Value, Value, Value];
  const states = rmsNorm(gate, weight, 1e-3);
  const factor = addLowRank(states, states, { a, b, scale: 0.7 });
  const gated = gatedSilu(gate, factor);
  return addLowRank(gated, gated, { a, b, scale: 1.3 });
};

/** Two rows with paths 0-2 and 1-2: token 2 is read twice, token 3 never. */
const alongPaths: Build = (graph, inputs, integers) => {
  const isRead = () => constant(graph, [2, 2, 2], [1, 0, 0, 1, 1, 1, 0, 0]);
  return multiply(
    pathGather(square(inputAt(inputs, 0)), { tokens: inputAt(integers, 0), isRead, places: inputAt(integers, 1) }),
    inputAt(inputs, 1),
  );
};

const cases: readonly Case[] = [
  {
    name: 'rmsNorm',
    shapes: [[4, 6], [6]],
    build: (_, inputs) => rmsNorm(inputAt(inputs, 0), inputAt(inputs, 1), 1e-3),
  },
  {
    name: 'rope',
    shapes: [[2, 3, 8]],
    integers: [{ data: [0, 1, 2, 4, 7, 9], shape: [2, 3] }],
    build: (graph, inputs, integers) => square(rotated(graph, inputAt(inputs, 0), inputAt(integers, 0))),
  },
  {
    name: 'attention',
    shapes: [
      [2, 2, 6, 4],
      [2, 2, 3, 4],
      [2, 2, 3, 4],
    ],
    build: attended,
  },
  {
    name: 'token logprobs and entropies, several targets of one row',
    shapes: [[4, 5], [5]],
    integers: [
      { data: [0, 0, 1, 3, 3], shape: [5] },
      { data: [2, 4, 0, 1, 0], shape: [5] },
    ],
    build: scored,
  },
  ...(['gradients', 'entropy gradients'] as const).flatMap((use) =>
    [1, 2, 7].map((numChunks) => ({
      name: `a frozen head in ${numChunks} chunks, for ${use}`,
      shapes: [[4, 3], [5]],
      integers: [
        { data: [0, 0, 1, 3, 3], shape: [5] },
        { data: [2, 4, 0, 1, 0], shape: [5] },
      ],
      build: scoredByHead(use, numChunks),
    })),
  ),
  {
    name: 'a low-rank adapter over normalized states and over a gate',
    shapes: [[4, 6], [6], [2, 6], [6, 2]],
    build: adapted,
  },
  {
    name: 'pathGather',
    shapes: [
      [4, 3],
      [2, 2, 3],
    ],
    integers: [
      { data: [0, 2, 1, 2], shape: [2, 2] },
      { data: [0, 1, 2, 4], shape: [4] },
    ],
    build: alongPaths,
  },
];

test.each(cases)('the gradient of $name equals difference quotients in double precision', async (testCase) => {
  expect(await gradientError(testCase)).toBeLessThan(1e-7);
});

test.each(cases)('$name with fused operators has the same gradient in single precision', async (testCase) => {
  expect(await gradientError({ ...testCase, options: { isFused: true } })).toBeLessThan(5e-3);
});
