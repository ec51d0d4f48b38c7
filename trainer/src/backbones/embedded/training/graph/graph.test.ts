import { openSession, toTensor } from '@agentjet/onnx';
import { expect, test } from 'vitest';
import { add, multiply } from './elementwise.js';
import { Graph } from './graph.js';
import { sumAll } from './reduce.js';
import { reshape } from './reshape.js';

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
