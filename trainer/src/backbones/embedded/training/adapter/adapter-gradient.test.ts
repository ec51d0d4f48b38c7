import { afterAll, describe, expect, test } from 'vitest';
import { createRandom, type LossOptions } from '@agentjet/core';
import { packTrees } from '../../../../packing/pack-trees.js';
import { createRandomSamples } from '../../../../testing/random-samples.js';
import { OnnxModel } from '../onnx-model.js';
import { toFloats } from '../frozen/frozen-weights.js';
import { WeightFiles } from '../frozen/weight-files.js';
import type { FloatArray } from '../optimizer/optimizer-memory.js';
import { plainOptimizer, policyLoss, tinyModel } from '../testing-model.js';

const still = { ...plainOptimizer, learningRate: 0, weightDecay: 0 };
const lora = { rank: 3, alpha: 6 };
/** A shape whose matrices consist of whole blocks of int8. */
const wholeBlocks = { hidden_size: 32, intermediate_size: 64, head_dim: 8 };
const samples = createRandomSamples(createRandom(4), { numRows: 9, maxLength: 8, vocabSize: 11, numEpisodes: 4 });
const { packs } = packTrees(samples, { maxPackTokens: 64, weighting: 'row' });
const { packs: rows } = packTrees(samples, { maxPackTokens: 64, weighting: 'row', sharing: 'none' });

const models: OnnxModel[] = [];
afterAll(() => Promise.all(models.map((model) => model.close())));

function open(options: Parameters<typeof tinyModel>[0]): OnnxModel {
  const model = tinyModel({ optimizer: still, ...options });
  models.push(model);
  return model;
}

type Matrix = { readonly rows: number; readonly columns: number; at(row: number, column: number): number };

function matrixOf({ layout }: Pick<OnnxModel, 'layout'>, buffer: FloatArray, name: string): Matrix {
  const { shape, offset } = layout.parameters.find((each) => each.name === name) ?? { shape: [], offset: NaN };
  const [numRows = 0, columns = 0] = shape;
  return { rows: numRows, columns, at: (row, column) => buffer[offset + row * columns + column] ?? NaN };
}

const transposed = ({ rows: numRows, columns, at }: Matrix): Matrix => ({
  rows: columns,
  columns: numRows,
  at: (row, column) => at(column, row),
});

function product(left: Matrix, right: Matrix, scale: number): Matrix {
  const at = (row: number, column: number): number => {
    let sum = 0;
    for (let inner = 0; inner < left.columns; inner++) sum += left.at(row, inner) * right.at(inner, column);
    return scale * sum;
  };
  return { rows: left.rows, columns: right.columns, at };
}

function largestDifference(found: Matrix, expected: Matrix): number {
  expect([found.rows, found.columns]).toEqual([expected.rows, expected.columns]);
  let largest = 0;
  for (let row = 0; row < found.rows; row++)
    for (let column = 0; column < found.columns; column++) {
      const difference = Math.abs(found.at(row, column) - expected.at(row, column));
      if (!(difference <= largest)) largest = difference;
    }
  return largest;
}

/** Returns a model of all weights, into which the adapter is merged. Its reference is the base without the adapter. */
function merged(adapted: OnnxModel, configJson: object): OnnxModel {
  const { base } = adapted;
  if (base === undefined || base.weights instanceof WeightFiles) throw new Error('The model has no adapter.');
  const original = toFloats(base.layout, base.weights);
  const weights = original.slice();
  for (const module of base.adapter.modules) {
    const [a, b] = ['A', 'B'].map((half) => matrixOf(adapted, adapted.parameters, `${module}.lora_${half}.weight`));
    const { offset = NaN } = base.layout.parameters.find(({ name }) => name === `${module}.weight`) ?? {};
    if (a === undefined || b === undefined) throw new Error('An adapter has two halves.');
    const change = product(b, a, base.adapter.scale);
    for (let row = 0; row < change.rows; row++)
      for (let column = 0; column < change.columns; column++) {
        const index = offset + row * change.columns + column;
        weights[index] = (weights[index] ?? NaN) + change.at(row, column);
      }
  }
  const model = new OnnxModel({
    config: tinyModel({ configJson }).config,
    weights,
    optimizer: still,
    precision: 'float64',
    threads: 1,
    readReference: async () => original,
  });
  models.push(model);
  return model;
}

const shapes = {
  'Qwen2, tied': {},
  'Llama, untied': { model_type: 'llama', tie_word_embeddings: false, num_hidden_layers: 1 },
  'Qwen3, with normalized heads': { model_type: 'qwen3', head_dim: 6, num_hidden_layers: 1 },
};
const losses: Readonly<Record<string, LossOptions>> = { policy: policyLoss, sft: { kind: 'sft' } };

describe('the gradients of A and B follow from those of all weights by the chain rule', () => {
  test.each(Object.keys(shapes).flatMap((shape) => Object.keys(losses).map((loss) => [shape, loss] as const)))(
    '%s, %s',
    async (shape, lossName) => {
      const configJson = shapes[shape as keyof typeof shapes];
      const loss = losses[lossName] ?? policyLoss;
      const adapted = open({ configJson, lora, precision: 'float64' });
      const singles = open({ configJson, lora });
      const whole = merged(adapted, configJson);
      const expected = await whole.trainStep({ packs, loss });
      expect((await adapted.trainStep({ packs, loss })).loss).toBeCloseTo(expected.loss, 12);
      await singles.trainStep({ packs, loss });
      for (const module of adapted.base?.adapter.modules ?? []) {
        const ofWeight = matrixOf(whole, whole.gradients, `${module}.weight`);
        const half = (name: 'A' | 'B', model = adapted, buffer = adapted.parameters): Matrix =>
          matrixOf(model, buffer, `${module}.lora_${name}.weight`);
        const wanted = {
          A: product(transposed(half('B')), ofWeight, 2),
          B: product(ofWeight, transposed(half('A')), 2),
        };
        for (const name of ['A', 'B'] as const) {
          expect(largestDifference(half(name, adapted, adapted.gradients), wanted[name]), module).toBeLessThan(1e-12);
          expect(largestDifference(half(name, singles, singles.gradients), wanted[name]), module).toBeLessThan(1e-5);
        }
      }
    },
  );
});

test('a tree has the gradient of its rows, cut into several rows too', async () => {
  const acrossRows = { pathRowLengths: [4], pathReadCost: Number.NEGATIVE_INFINITY };
  for (const [precision, tolerance] of [
    ['float64', 1e-10],
    ['float32', 1e-5],
  ] as const) {
    const onRows = open({ lora, precision });
    await onRows.trainStep({ packs: rows, loss: policyLoss });
    const limits = [{}, acrossRows, { ...acrossRows, maxKeptTokens: () => 0 }];
    for (const onTrees of limits.map((each) => open({ lora, precision, limits: each }))) {
      await onTrees.trainStep({ packs, loss: policyLoss });
      const differences = onTrees.gradients.map((gradient, index) => gradient - (onRows.gradients[index] ?? NaN));
      expect(Math.hypot(...differences) / Math.hypot(...onRows.gradients)).toBeLessThan(tolerance);
    }
  }
});

test.each(['float32', 'float16', 'int8'] as const)(
  'layers that are computed again over %s give the same gradient',
  async (format) => {
    const options = { lora, format, configJson: format === 'int8' ? wholeBlocks : {} };
    const [kept, again] = [open(options), open({ ...options, limits: { maxKeptTokens: () => 0 } })];
    const [expected, found] = [
      await kept.trainStep({ packs, loss: policyLoss }),
      await again.trainStep({ packs, loss: policyLoss }),
    ];
    expect(found.loss).toBe(expected.loss);
    const differences = again.gradients.map((gradient, index) => gradient - (kept.gradients[index] ?? NaN));
    expect(Math.hypot(...kept.gradients)).toBeGreaterThan(0);
    expect(Math.hypot(...differences) / Math.hypot(...kept.gradients)).toBeLessThan(1e-6);
  },
);

test('an adapter whose B is 0 gives the logprobs of the base', async () => {
  const [base, adapted] = [open({}), open({ lora })];
  for (const { name, offset, size } of adapted.layout.parameters)
    if (name.includes('lora_B')) adapted.parameters.fill(0, offset, offset + size);
  const [expected, found] = [await base.logprobs(samples), await adapted.logprobs(samples)];
  const differences = found.flatMap((row, index) => [...row].map((each, at) => each - (expected[index]?.[at] ?? NaN)));
  expect(Math.hypot(...differences)).toBeLessThan(1e-5);
});

test('a step changes A and B of the chosen modules, and there are no other buffers', async () => {
  const targetModules = ['q_proj', 'model.layers.1.mlp.down_proj'];
  const model = open({ lora: { ...lora, targetModules }, optimizer: plainOptimizer });
  const [before, base] = [model.parameters.slice(), structuredClone(model.base?.weights)];
  await model.trainStep({ packs, loss: policyLoss });
  expect(model.layout.parameters.map(({ name }) => name)).toEqual(
    ['model.layers.0.self_attn.q_proj', 'model.layers.1.self_attn.q_proj', 'model.layers.1.mlp.down_proj'].flatMap(
      (module) => [`${module}.lora_A.weight`, `${module}.lora_B.weight`],
    ),
  );
  for (const { name, offset, size } of model.layout.parameters)
    expect(model.parameters.slice(offset, offset + size), name).not.toEqual(before.slice(offset, offset + size));
  expect(model.base?.weights).toEqual(base);
  expect(model.gradients).toHaveLength(model.layout.length);
  expect(model.base?.adapter.targetModules).toEqual(['q_proj', 'model.layers.1.mlp.down_proj']);
});

test.each([
  [['lm_head'], '"lm_head", which the onnx backbone cannot adapt. It adapts q_proj, k_proj, v_proj, o_proj, gate_proj'],
  [['all-linear', 'q_proj'], '"all-linear" and other names. Use "all-linear" alone, or names alone.'],
])('refuses the modules %j', (targetModules, message) => {
  expect(() => tinyModel({ lora: { rank: 2, targetModules } })).toThrow(message);
});
