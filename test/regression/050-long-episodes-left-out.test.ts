import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Backbone, Engine, TrainBatch } from '@agentjet/core';
import { createScriptedEngine } from '@agentjet/rollout/testing';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { AgentJetJob, type ConfigInput, type Task, type Tuner } from 'agentjet';
import { describe, expect, it, vi } from 'vitest';
import { readMetrics, type Row } from '../e2e/support/read-run.js';
import { writeTinyModel } from '../e2e/support/tiny-model.js';

/**
 * Long episodes are the ones that finish late. A loop that leaves out what is late trains the short ones; if the reward goes with
 * the length, the model then learns the wrong thing.
 */
vi.setConfig({ testTimeout: 60_000 });

const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('chatml'));
const rewards = [0, 1, 2, 3, 4, 5, 6, 16]; // and as many calls more than one

/** Weights that only count their versions, each step after some turns of the event loop. */
function createCountingBackbone(modelDir: string): Backbone {
  let version = 0;
  const scripted = createScriptedEngine({ chatTokenizer, replies: [{ text: 'an answer', tokenDelayMs: 0 }] });
  const engine: Engine = {
    contextLength: scripted.contextLength,
    generate: async (request) => ({ ...(await scripted.generate(request)), policyVersion: version }),
  };
  const trainStep = async ({ packs }: TrainBatch) => {
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    version++;
    const zero = { loss: 0, gradNorm: 0, entropy: 0, kl: 0, clipFraction: 0, logprobGapMax: 0, logprobGapMean: 0 };
    const trainedTokens = packs.reduce((sum, { terms }) => sum + terms.weights.length, 0);
    return { ...zero, learningRate: 0, policyVersion: version, trainedTokens, rowTokens: 0, treeTokens: trainedTokens };
  };
  return {
    engine,
    capabilities: { takes: 'packs', repeatsSeed: true, reportsGradNorm: true, losses: ['policy'], streams: true },
    modelDir,
    get policyVersion() {
      return version;
    },
    trainStep,
    logprobs: (rows) => Promise.resolve(rows.map(({ ids }) => new Float32Array(ids.length))),
    save: () => Promise.resolve(),
    load: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

const repeatOf = (tuner: Tuner): number => Number(/-r(\d+)/.exec(tuner.episodeId)?.[1] ?? 0);

/** The more calls an episode makes, the better it is. */
async function talk(task: Task, tuner: Tuner) {
  const reward = rewards[repeatOf(tuner)] ?? 0;
  const model = tuner.selectModel({ agentName: 'talker' }, (tuned) => tuned);
  for (let call = 0; call <= reward; call++)
    await model.generate({ messages: [{ role: 'user', content: `${task.mainQuery}, part ${call}` }] });
  return { reward };
}

/** As `talk`, but the best episode of every fourth task never ends by itself. */
async function talkOrHang(task: Task, tuner: Tuner) {
  if (Number(task.mainQuery) % 4 === 0 && repeatOf(tuner) === rewards.length - 1) {
    await talk(task, tuner);
    await new Promise(() => {});
  }
  return talk(task, tuner);
}

async function train(workflow: typeof talk, config: ConfigInput): Promise<readonly Row[]> {
  const experimentDir = mkdtempSync(path.join(tmpdir(), 'ajet-pacing-'));
  const modelDir = await writeTinyModel(path.join(experimentDir, 'model'));
  const steps = 4;
  const job = new AgentJetJob({
    backbone: createCountingBackbone(modelDir),
    model: modelDir,
    experimentDir,
    experimentName: 'pacing',
    numRepeat: rewards.length,
    batchSize: 4,
    maxModelLen: 512,
    maxPromptLength: 256,
    maxResponseLength: 256,
    config: {
      ...config,
      trainerCommon: { ...config.trainerCommon, valBeforeTrain: false, totalTrainingSteps: steps, saveFreq: 0 },
    },
  })
    .setWorkflow(workflow)
    .setData({ training: Array.from({ length: 4 * steps }, (_, at) => ({ taskId: `t${at}`, mainQuery: String(at) })) });
  const { runDir } = await job.tune({ onEvent: ({ type, ...event }) => type === 'notice' && notices.push(event) });
  if (runDir === null) throw new Error('nothing was written');
  return readMetrics(runDir);
}

const notices: object[] = [];

describe('a run in which long episodes are better', () => {
  it.each([1, 3])('trains them all, with sampling up to %i versions ahead', async (maxStaleness) => {
    const metrics = await train(talk, { rollout: { maxEnvWorker: 12 }, trainerCommon: { maxStaleness } });
    expect(metrics).toHaveLength(4);
    for (const row of metrics) {
      expect(row['trained_over_begun_tokens']).toBeCloseTo(1, 6);
      expect(Math.abs(Number(row['trained_over_begun_seconds']) - 1)).toBeLessThan(0.05);
      expect(row).toMatchObject({ stale_episodes: 0, cut_attempts_share: 0, episodes: 32, failed_episodes: 0 });
      expect(row['reward_mean']).toBeCloseTo(37 / 8, 6);
      expect(row['trained_tokens']).toBe(row['generated_tokens']);
      expect(row['staleness_max']).toBeLessThanOrEqual(maxStaleness);
    }
    expect(metrics.at(-1)?.['staleness_max']).toBeGreaterThan(0);
  });

  it('tells how far it is from that if it gives stragglers up', async () => {
    const metrics = await train(talkOrHang, {
      rollout: { stragglerPatience: 0.2 },
      trainerCommon: { maxStaleness: 1 },
    });
    const given = metrics.filter((row) => row['stale_episodes'] !== 0);
    expect(metrics.reduce((sum, row) => sum + Number(row['stale_episodes']), 0)).toBe(4 * rewards.length);
    for (const row of given) {
      expect(row['cut_attempts_share']).toBeGreaterThan(0);
    }
    expect(notices).toContainEqual({ message: expect.stringMatching(/groups were given up .*straggler_patience/) });
  });

  it('keeps the lines of a run on-policy as they are', async () => {
    const [row = {}] = await train(talk, {});
    expect(Object.keys(row).filter((key) => key.startsWith('trained_over') || key.startsWith('cut_'))).toEqual([]);
  });
});
