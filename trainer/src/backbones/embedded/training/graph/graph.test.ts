import { openSession, runInto, toTensor, unreturnedOutput } from '@agentjet/onnx';
import { expect, test } from 'vitest';
import { readFields } from '../../../tinker/wire/proto-fields.js';
import { copyAfter } from './copy-after.js';
import { add, multiply } from './elementwise.js';
import { Graph } from './graph.js';
import { sumAll } from './reduce.js';
import { reshape } from './reshape.js';
import type { Value } from './value.js';

test('one graph runs at every size of its symbolic dims', async () => {
  const graph = new Graph();
  const value = graph.parameter('value', ['B', 'T', 2]);
  const flat = reshape(multiply(value, value), [graph.defineDim('N', ['B', 'T', 2])]);
  const loss = sumAll(flat);
  const [gradient] = graph.backward(loss, [value]);
  graph.output('loss', loss);
  if (gradient !== undefined) graph.output('gradient', gradient);
  const session = await openSession(graph.encode(), { threads: 1 });
  for (const [batch, time] of [
    [1, 1],
    [2, 3],
    [4, 1],
  ] as const) {
    const data = Float32Array.from({ length: batch * time * 2 }, (_, index) => index);
    const outputs = await session.run({ value: toTensor(data, [batch, time, 2]) });
    expect(outputs['loss']?.data[0]).toBe(data.reduce((total, element) => total + element * element, 0));
    expect(outputs['gradient']?.dims).toEqual([batch, time, 2]);
    expect(Array.from(outputs['gradient']?.data as Float32Array)).toEqual(Array.from(data, (element) => 2 * element));
  }
  await session.release();
});

test('outputs are written into given arrays and not copied', async () => {
  const graph = new Graph();
  graph.output(unreturnedOutput, graph.node('SequenceEmpty', [], { shape: [], type: 'sequence' }));
  graph.output('sum', add(graph.input('value', ['N']), 1));
  const session = await openSession(graph.encode(), { threads: 1 });
  const size = 2 ** 20;
  const value = toTensor(new Float32Array(size).fill(2), [size]);
  const sum = new Float32Array(size);
  const before = process.memoryUsage().arrayBuffers;
  for (let run = 0; run < 4; run += 1) await runInto(session, { value }, { sum: toTensor(sum, [size]) });
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(sum.byteLength);
  expect(sum.every((element) => element === 3)).toBe(true);
  await expect(runInto(session, {}, { sum: toTensor(sum, [size]) })).rejects.toThrow('value');
  await session.release();
});

test('weights outside the model are read from external data', async () => {
  const graph = new Graph();
  const weight = graph.initializer([2], { location: 'weights', offset: 4, length: 8 }, { name: 'weight' });
  graph.output('sum', add(graph.input('value', [2]), weight));
  const data = new Uint8Array(Float32Array.of(9, 10, 20).buffer);
  const session = await openSession(graph.encode(), { threads: 1, externalData: [{ path: 'weights', data }] });
  const outputs = await session.run({ value: toTensor(Float32Array.of(1, 2), [2]) });
  expect(Array.from(outputs['sum']?.data as Float32Array)).toEqual([11, 22]);
  await session.release();
});

test('shapes that do not fit are refused while building', () => {
  const graph = new Graph();
  expect(() => add(graph.input('left', [2, 3]), graph.input('right', [2, 4]))).toThrow(
    '[2, 3] and [2, 4] do not broadcast',
  );
  expect(() => graph.dim('Z')).toThrow('"Z"');
  expect(() => graph.input('left', [1])).toThrow('already has an input "left"');
});

test('a value that the loss does not depend on has no gradient', () => {
  const graph = new Graph();
  const [used, unused] = [graph.parameter('used', [2]), graph.parameter('unused', [2])];
  expect(() => graph.backward(sumAll(used), [unused])).toThrow('does not depend on');
});

test('a copy that waits for other values has the same numbers', async () => {
  const graph = new Graph();
  const [value, other, scalar] = [graph.input('value', [2]), graph.input('other', [1, 3]), graph.input('scalar', [])];
  graph.output('copy', copyAfter(value, [other, scalar]));
  const session = await openSession(graph.encode(), { threads: 1 });
  for (const number of [0, NaN, Infinity, -Infinity]) {
    const outputs = await session.run({
      value: toTensor(Float32Array.of(1.5, -0.1), [2]),
      other: toTensor(Float32Array.of(number, 1, 1), [1, 3]),
      scalar: toTensor(Float32Array.of(number), []),
    });
    expect(outputs['copy']?.data).toEqual(Float32Array.of(1.5, -0.1));
  }
  await session.release();
});

type EncodedPart = { readonly inputs: readonly string[]; readonly outputs: readonly string[] };

/** Reads the nodes of an encoded model. Field numbers come from onnx.proto. */
function nodesOf(graph: Graph): readonly EncodedPart[] {
  const messages = (bytes: Buffer, field: number) =>
    readFields(bytes).flatMap((each) => (each.number === field ? [each.bytes] : []));
  return messages(Buffer.from(graph.encode()), 7)
    .flatMap((encoded) => messages(encoded, 1))
    .map((node) => ({ inputs: messages(node, 1).map(String), outputs: messages(node, 2).map(String) }));
}

/** Returns whether one value is computed from another one. */
function waitsFor(nodes: readonly EncodedPart[], value: string, other: string): boolean {
  if (value === other) return true;
  const node = nodes.find(({ outputs }) => outputs.includes(value));
  return node !== undefined && node.inputs.some((input) => waitsFor(nodes, input, other));
}

test.each([
  ['waits for the gradients of a later stage', true],
  ['is independent of later gradients without stages', false],
])('the gradient of an early parameter %s', (_, hasStages) => {
  const graph = new Graph();
  const parameters = ['early', 'middle', 'late'].map((name) => graph.parameter(name, [2]));
  const end = (value: Value): Value => (hasStages ? graph.endStage(value) : value);
  const states = parameters.reduce((value, parameter) => end(multiply(value, parameter)), graph.input('value', [2]));
  const loss = sumAll(states);
  graph.output('loss', loss);
  for (const [index, gradient] of graph.backward(loss, parameters).entries())
    graph.output(`gradient ${index}`, gradient);
  const nodes = nodesOf(graph);
  for (const later of ['loss', 'gradient 1', 'gradient 2'])
    expect(waitsFor(nodes, 'gradient 0', later)).toBe(hasStages);
  expect(waitsFor(nodes, 'gradient 2', 'gradient 0')).toBe(false);
});
