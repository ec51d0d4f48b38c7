import path from 'node:path';
import { AgentJetJob, configuration, type Task, type Tuner } from 'agentjet';
import { SwarmClient } from '@agentjet/swarm-client';
import { serveSwarm } from '@agentjet/swarm-server';
import { beforeAll, describe, expect, it } from 'vitest';
import { longIt } from '../long-tests.js';
import { createScratchFolder } from './support/job-folder.js';
import { readMetrics } from './support/read-run.js';
import { writeTinyModel } from './support/tiny-model.js';

/**
 * Trains one configuration in an ordinary run, and over HTTP in a swarm with `order: drawn`. All figures that do not
 * measure time are equal to the last digit.
 */

const createConfig = (modelDir: string, order: 'pool' | 'drawn') =>
  ({
    experimentDir: createScratchFolder(),
    experimentName: 'drawn',
    model: { path: modelDir },
    data: { trainBatchSize: 3, maxPromptLength: 128, maxResponseLength: 64 },
    rollout: { numRepeat: 12, maxModelLen: 256, maxResponseLengthInOneTurn: 6, failedEpisodePolicy: 'drop_group' },
    trainerCommon: {
      totalTrainingSteps: 4,
      valBeforeTrain: false,
      maxEmptySteps: null,
      optim: { lr: 0.01 },
    },
    swarm: { order },
    onnx: { numThreads: 1 },
  }) as const;

/** With five tasks, batches of three extend from one pass into the next. */
const tasks: readonly Task[] = Array.from({ length: 5 }, (_none, index) => ({
  taskId: `t${index}`,
  mainQuery: `Say ${index}.`,
  initMessages: [],
  metadata: {},
}));

/** Rewards follow from the answer. With `isFailing`, the agent fails at one task of five. */
const createWorkflow =
  (isFailing: boolean) =>
  async (
    { taskId, mainQuery }: Task,
    tuner: Tuner,
  ): Promise<{ readonly reward: number; readonly isSuccess: boolean }> => {
    const model = tuner.selectModel({ agentName: 'speaker' }, (each) => each);
    const { message } = await model.generate({ messages: [{ role: 'user', content: mainQuery }] });
    const letters = [...String(message.content ?? '')].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0);
    if (isFailing && taskId === 't4') throw new Error('The agent lost its way.');
    return { reward: (letters % 10) / 10, isSuccess: letters % 3 === 0 };
  };

type Run = { readonly modelDir: string; readonly isFailing?: boolean };
type Figures = readonly Readonly<Record<string, unknown>>[];

/** Removes the figures that measure time. */
const readFigures = (runDir: string): Figures =>
  readMetrics(runDir).map((row) =>
    Object.fromEntries(Object.entries(row).filter(([key]) => !/seconds|per_second/.test(key))),
  );

async function trainAlone({ modelDir, isFailing = false }: Run): Promise<Figures> {
  const config = createConfig(modelDir, 'drawn');
  const job = new AgentJetJob({ config }).setWorkflow(createWorkflow(isFailing)).setData({ training: tasks });
  return readFigures(String((await job.tune({ onEvent: () => undefined })).runDir));
}

async function trainInSwarm(
  { modelDir, isFailing = false }: Run,
  { order = 'drawn', clients = 1 }: { readonly order?: 'pool' | 'drawn'; readonly clients?: number },
): Promise<Figures> {
  const config = configuration.create(createConfig(modelDir, order));
  const served = await serveSwarm({ config, composition: configuration, port: 0, onNotice: () => undefined });
  try {
    const runs = Array.from({ length: clients }, () => {
      const swarm = new SwarmClient({ url: served.server.url, key: served.server.firstKey });
      return swarm.run(createWorkflow(isFailing), { tasks, parallel: 8 });
    });
    await Promise.all(runs);
  } finally {
    await served.close();
  }
  return readFigures(served.runDir);
}

let modelDir: string;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});

describe('a swarm with order: drawn', () => {
  it.each([1, 3])('equals the ordinary run to the last digit, clients: %i', async (clients) => {
    const alone = await trainAlone({ modelDir });
    expect(alone).toHaveLength(4);
    expect(alone.every((row) => Number(row['trained_tokens']) > 0)).toBe(true);
    expect(await trainInSwarm({ modelDir }, { clients })).toEqual(alone);
  });

  it('equals it if an agent fails: its groups stay in their batches, and are not trained', async () => {
    const alone = await trainAlone({ modelDir, isFailing: true });
    expect(alone.reduce((sum, row) => sum + Number(row['failed_episodes']), 0)).toBe(24);
    expect(await trainInSwarm({ modelDir, isFailing: true }, {})).toEqual(alone);
  });
});

longIt('a swarm with order: pool and one client trains the same twice', async () => {
  const once = await trainInSwarm({ modelDir }, { order: 'pool' });
  expect(once).toHaveLength(4);
  expect(await trainInSwarm({ modelDir }, { order: 'pool' })).toEqual(once);
});
