import { createRandom } from '@agentjet/core';
import { expect, test } from 'vitest';
import { createOptimizerMemory, createPlainMemory, createWasmMemory } from './optimizer-memory.js';
import type { FloatArray, OptimizerMemory } from './optimizer-memory.js';

const length = 1024;

function fill(memory: OptimizerMemory): OptimizerMemory {
  const random = createRandom(3);
  const buffers = [memory.parameters, memory.gradients, memory.firstMoments, memory.partialGradients];
  for (const buffer of buffers) buffer.forEach((_, index) => (buffer[index] = random.next() * 2 - 1));
  memory.secondMoments.forEach((_, index) => (memory.secondMoments[index] = random.next()));
  return memory;
}

function wasmMemory(): OptimizerMemory {
  const memory = createWasmMemory(length);
  if (memory === undefined) throw new Error('This machine has no WebAssembly SIMD.');
  return fill(memory);
}

function largestDifference(left: FloatArray, right: FloatArray): number {
  return Math.max(...Array.from(left, (element, index) => Math.abs(element - (right[index] ?? Number.NaN))));
}

const coefficients = { beta1: 0.9, beta2: 0.98, gradientScale: 0.5, decay: 0.999, stepSize: 0.01, epsilon: 1e-8 };

test('the WebAssembly update equals the plain one, and stays inside its range', () => {
  const [wasm, plain] = [wasmMemory(), fill(createPlainMemory(length, 'float64'))];
  const before = Array.from(wasm.parameters);
  for (const memory of [wasm, plain]) memory.update({ start: 128, end: 512 }, coefficients);
  for (const name of ['parameters', 'firstMoments', 'secondMoments'] as const) {
    expect(largestDifference(wasm[name], plain[name])).toBeLessThan(1e-6);
  }
  expect(Array.from(wasm.parameters.subarray(0, 128))).toEqual(before.slice(0, 128));
  expect(Array.from(wasm.parameters.subarray(512))).toEqual(before.slice(512));
  expect(wasm.parameters[128]).not.toBe(before[128]);
});

test('the update follows the formula of AdamW', () => {
  const memory = createPlainMemory(4, 'float64');
  memory.parameters.fill(2);
  memory.gradients.fill(0.5);
  const [rate, weightDecay, beta1, beta2] = [0.1, 0.01, 0.9, 0.99];
  const correction = { first: 1 - beta1, second: 1 - beta2 };
  memory.update(
    { start: 0, end: 4 },
    {
      beta1,
      beta2,
      gradientScale: 1,
      decay: 1 - rate * weightDecay,
      stepSize: (rate * Math.sqrt(correction.second)) / correction.first,
      epsilon: 1e-8 * Math.sqrt(correction.second),
    },
  );
  // The first step of Adam is the learning rate in the direction of the gradient's sign.
  expect(memory.parameters[0]).toBeCloseTo(2 * (1 - rate * weightDecay) - rate, 7);
});

test('partial gradients add up and the norm is the same in both', () => {
  const [wasm, plain] = [wasmMemory(), fill(createPlainMemory(length, 'float64'))];
  for (const memory of [wasm, plain]) memory.addPartialGradients();
  expect(largestDifference(wasm.gradients, plain.gradients)).toBeLessThan(1e-6);
  expect(wasm.sumOfGradientSquares() / plain.sumOfGradientSquares()).toBeCloseTo(1, 6);
});

test('double precision gets plain arrays', () => {
  expect(createOptimizerMemory(16, 'float64').parameters).toBeInstanceOf(Float64Array);
  expect(createOptimizerMemory(16).parameters).toBeInstanceOf(Float32Array);
});
