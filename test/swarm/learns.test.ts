import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { configuration, type Task, type Tuner } from 'agentjet';
import { asModel } from '@agentjet/openai';
import { SwarmClient } from '@agentjet/swarm-client';
import { serveSwarm } from '@agentjet/swarm-server';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FrozenLake, type LakeMap } from '#tutorial/frozen-lake/frozen-lake.js';
import { drawTasks } from '#tutorial/frozen-lake/lake-tasks.js';

/** Trains the smallest task: the model sees a lake once, and gets a reward for one of the four directions. */

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'swarm-learns-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const [groups, siblings, steps] = [4, 8, 8];
const tasks = drawTasks('training', { seed: 1, count: groups * steps });

const system =
  'You walk on a frozen lake. Reach the goal. Do not step into a hole. Answer with one word: up, down, left or right.';

async function goUp(task: Task, tuner: Tuner): Promise<{ readonly reward: number }> {
  const model = asModel(tuner, { agentName: 'walker' });
  const content = new FrozenLake(task.metadata['map'] as LakeMap).describe();
  const { choices } = await model.chat.completions.create({
    model: 'm',
    messages: [
      { role: 'system', content: system },
      { role: 'user', content },
    ],
  });
  return { reward: choices[0]?.message.content?.trim() === 'up' ? 1 : 0 };
}

const settings = {
  model: { path: 'nano' },
  data: { trainBatchSize: groups },
  rollout: { numRepeat: siblings, maxResponseLengthInOneTurn: 8 },
  trainerCommon: {
    totalTrainingSteps: steps,
    valBeforeTrain: false,
    testFreq: 0,
    maxEmptySteps: null,
    optim: { lr: 1e-3 },
  },
  onnx: { numThreads: 1 },
} as const;

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Returns the mean rewards of the first and of the last two steps. */
function beginAndEnd(rewards: readonly number[], perStep: number): readonly [number, number] {
  return [mean(rewards.slice(0, 2 * perStep)), mean(rewards.slice(-2 * perStep))];
}

it('a workflow over HTTP learns in a few steps', async () => {
  const config = configuration.create({ ...settings, experimentDir: dir, experimentName: 'swarm' });
  const served = await serveSwarm({ config, composition: configuration, port: 0, onNotice: () => undefined });
  const rewards: number[] = [];
  try {
    const swarm = new SwarmClient({ url: served.server.url, key: served.server.firstKey });
    const result = await swarm.run(goUp, {
      tasks,
      parallel: 16,
      onEvent: (event) => void (event.type === 'episode_ended' && rewards.push(event.end.reward ?? 0)),
    });
    expect(result).toMatchObject({ reason: 'complete', failed: 0, outages: 0 });
    expect(served.server.swarm?.describe().step).toBe(steps);
  } finally {
    await served.close();
  }

  const [atFirst, atLast] = beginAndEnd(rewards, groups * siblings);
  expect(atLast - atFirst).toBeGreaterThan(0.3);
});
