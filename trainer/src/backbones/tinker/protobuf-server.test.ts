import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Backbone } from '@agentjet/core';
import { createTinyTaskBackbone } from '../../testing/tiny-task.js';
import { lesson, row } from './testing/lesson.js';
import { openClient, writeModelConfig } from './testing/open-client.js';
import { TinkerServer } from './testing/tinker-server.js';

/** A server that takes rows only as protobuf. */

let server: TinkerServer;
let modelDir: string;
let backbone: Backbone | undefined;

beforeEach(async () => {
  server = await TinkerServer.start({ open: async () => createTinyTaskBackbone(1), wire: 'protobuf' });
  modelDir = await writeModelConfig(5);
});
afterEach(async () => {
  await backbone?.close();
  backbone = undefined;
  await server.close();
  await rm(modelDir, { recursive: true });
});

test('it is detected at its first refusal, reported, and trains as this process does', async () => {
  const notices: string[] = [];
  backbone = await openClient(server, modelDir, { notice: (message) => notices.push(message) });
  expect(notices[0]).toContain('wire protobuf');
  const local = createTinyTaskBackbone(1);
  for (let step = 0; step < 2; step++) {
    const [found, expected] = [await backbone.trainStep(lesson()), await local.trainStep(lesson())];
    expect(found.loss).toBeCloseTo(expected.loss, 5);
    expect(found.gradNorm).toBeCloseTo(expected.gradNorm ?? Number.NaN, 5);
  }
});

test('it refuses JSON with its status', async () => {
  await expect(openClient(server, modelDir, { wire: 'json' })).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringContaining('status 415'),
  });
});

test('it samples what this process samples', async () => {
  backbone = await openClient(server, modelDir);
  const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 4, stopIds: [], seed: 1 };
  const request = { promptIds: row, sampling };
  const [found, expected] = [
    await backbone.engine.generate(request),
    await createTinyTaskBackbone(1).engine.generate(request),
  ];
  expect(found.ids).toEqual(expected.ids);
  for (const [at, logprob] of found.logprobs.entries()) expect(logprob).toBeCloseTo(expected.logprobs[at] ?? 0, 5);
});
