import path from 'node:path';
import { AgentJetJob, configuration, type Task, type Tuner } from 'agentjet';
import { SwarmClient } from '@agentjet/swarm-client';
import { serveSwarm } from '@agentjet/swarm-server';
import { createChatTokenizer, type ChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { createScratchFolder } from './support/job-folder.js';
import { readEpisodes, readMetrics } from './support/read-run.js';
import { writeTinyModel } from './support/tiny-model.js';

/**
 * Some settings mean the same in an ordinary run and in a swarm. These tests train one configuration and one workflow
 * in both.
 */

/** Makes four steps of two groups of two episodes. */
const createConfig = (modelDir: string) =>
  ({
    experimentDir: createScratchFolder(),
    experimentName: 'both',
    model: {
      path: modelDir,
      chatTemplateKwargs: { enable_thinking: false },
      agentChatTemplateKwargs: [{ agent: 'thinker', kwargs: { enable_thinking: true } }],
    },
    data: { trainBatchSize: 2, maxPromptLength: 128, maxResponseLength: 64 },
    rollout: { numRepeat: 2, maxModelLen: 256, maxResponseLengthInOneTurn: 8, topP: 0.9 },
    trainerCommon: {
      totalTrainingSteps: 4,
      valBeforeTrain: false,
      maxEmptySteps: null,
      optim: { lr: 0.01, lrSchedulerType: 'linear' },
    },
    onnx: { numThreads: 1 },
  }) as const;

const tasks: readonly Task[] = Array.from({ length: 8 }, (_none, index) => ({
  taskId: `t${index}`,
  mainQuery: `Say ${index}.`,
  initMessages: [],
  metadata: {},
}));

/** Rewards siblings differently, except for those of the second step, which trains nothing. */
function createWorkflow() {
  let numBegun = 0;
  const numEnded = new Map<string, number>();
  return async ({ taskId, mainQuery }: Task, tuner: Tuner): Promise<{ readonly reward: number }> => {
    const step = 1 + Math.floor(numBegun++ / 4);
    for (const agentName of ['speaker', 'thinker'])
      await tuner
        .selectModel({ agentName }, (model) => model)
        .generate({ messages: [{ role: 'user', content: mainQuery }] });
    const place = numEnded.get(taskId) ?? 0;
    numEnded.set(taskId, place + 1);
    return { reward: step === 2 ? 1 : place };
  };
}

type Config = ReturnType<typeof createConfig>;

async function trainAlone(config: Config): Promise<string> {
  const job = new AgentJetJob({ config }).setWorkflow(createWorkflow()).setData({ training: tasks });
  return String((await job.tune({ onEvent: () => undefined })).runDir);
}

async function trainInSwarm(given: Config): Promise<string> {
  const config = configuration.create(given);
  const served = await serveSwarm({ config, composition: configuration, port: 0, onNotice: () => undefined });
  try {
    const swarm = new SwarmClient({ url: served.server.url, key: served.server.firstKey });
    await swarm.run(createWorkflow(), { tasks, parallel: 4 });
  } finally {
    await served.close();
  }
  return served.runDir;
}

let modelDir: string;
let chatTokenizer: ChatTokenizer;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'), 'qwen3');
  chatTokenizer = createChatTokenizer(createChatTokenizerFiles('qwen3'));
});

type SampleRow = {
  readonly agent_name: string;
  readonly ids: readonly number[];
  readonly loss_mask: readonly number[];
};

function promptOf({ ids, loss_mask: mask }: SampleRow): string {
  return chatTokenizer.tokenizer.decode(ids.slice(0, mask.indexOf(1)));
}

describe.each([
  ['an ordinary run', trainAlone],
  ['a swarm', trainInSwarm],
])('%s', (_name, train) => {
  let runDir: string;
  beforeAll(async () => {
    runDir = await train(createConfig(modelDir));
  });

  it('has the learning rates of the steps of its loop, of which one trains nothing', () => {
    const rates = readMetrics(runDir).map((row) => [row['step'], row['policy_version'], row['learning_rate']]);
    expect(rates).toEqual([
      [1, 1, 0.01],
      [2, 1, 0.0075],
      [3, 2, 0.005],
      [4, 3, 0.0025],
    ]);
  });

  it('trains the distribution that top_p left, without a gap and without a token outside of it', () => {
    const trained = readMetrics(runDir).filter((row) => row['trained_tokens'] !== 0);
    expect(trained).toHaveLength(3);
    for (const row of trained)
      expect(row).toMatchObject({ tokens_outside_support: 0, logprob_gap_max: 0, clip_fraction: 0 });
  });

  it('prints prompts with the variables of the chat template, and with those of an agent', () => {
    const samples = readEpisodes(runDir).flatMap((row) => row['samples'] as readonly SampleRow[]);
    expect(samples).toHaveLength(32);
    for (const sample of samples)
      expect(promptOf(sample).endsWith('</think>\n\n')).toBe(sample.agent_name === 'speaker');
  });
});
