import { expect, test } from 'vitest';
import { BackboneError, createRandom } from '@agentjet/core';
import fixtures from './fixtures.json' with { type: 'json' };
import { readProtobuf } from './proto-answers.js';
import { toProtobuf, type RowRequest } from './row-request.js';

/** `fixtures.json` holds messages that the SDK it names has written. */
const request: RowRequest = {
  modelId: 'model-1',
  sequence: 300,
  loss: 'cross_entropy',
  isForward: false,
  rows: [
    { ids: Int32Array.of(1, 2, 300_000, 300_001), inputs: { weights: [0.5, -0.25, 1.5] } },
    { ids: Int32Array.of(7, 8), inputs: { weights: [0] } },
  ],
};

test('a request is written as the SDK writes it, byte for byte', () => {
  expect(Buffer.from(toProtobuf(request)).toString('hex')).toBe(fixtures.request);
  expect(Buffer.from(toProtobuf({ ...request, isForward: true })).toString('hex')).toBe(fixtures.forward_request);
});

test('the output of a gradient is read in the shape it has as JSON, from one or several records', () => {
  expect(readProtobuf(Buffer.from(fixtures.output, 'hex'), 'rows')).toEqual({
    loss_fn_outputs: [[-0.5, -1.25, -2], [-4], [-0.5, -3]].map((data) => ({ logprobs: { data } })),
    metrics: { 'loss:sum': 2.5, 'grad_norm:mean': 0.125 },
  });
});

test('samples are read in the shape they have as JSON', () => {
  expect(readProtobuf(Buffer.from(fixtures.sample, 'hex'), 'sample')).toEqual({
    sequences: [
      { stop_reason: 'length', tokens: [5, 6, 7], logprobs: [-0.5, -0.25, -3] },
      { stop_reason: 'stop', tokens: [9], logprobs: [-1] },
    ],
  });
});

test.each(['rows', 'sample'] as const)(
  'bytes that are not such a message are refused or read, never thrown: %s',
  (kind) => {
    const random = createRandom(7);
    const whole = Buffer.from(kind === 'rows' ? fixtures.output : fixtures.sample, 'hex');
    for (let round = 0; round < 2000; round++) {
      const bytes = Buffer.from(whole.subarray(0, 1 + random.int(whole.length)));
      for (let flips = random.int(4); flips > 0; flips--) bytes[random.int(bytes.length)] = random.int(256);
      try {
        readProtobuf(bytes, kind);
      } catch (error) {
        expect(error).toBeInstanceOf(BackboneError);
        expect(error).toMatchObject({ code: 'protocol' });
      }
    }
  },
);
