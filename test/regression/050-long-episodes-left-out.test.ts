import { mkdtempSync, readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { createRandom, type Backbone, type Engine, type TrainBatch } from '@agentjet/core';
import { createScriptedEngine } from '@agentjet/rollout/testing';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { AgentJetJob, Outage, type ConfigInput, type Task, type Tuner } from 'agentjet';
import { describe, expect, it } from 'vitest';
import { readEpisodes, readMetrics, type Row } from '../e2e/support/read-run.js';
import { writeTinyModel } from '../e2e/support/tiny-model.js';

/**
 * Long episodes finish late. A loop that leaves out late episodes trains the short ones. If the reward depends on the
 * length, the model then learns the wrong thing.
 */
const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('chatml'));
const rewards = [0, 1, 2, 3, 4, 5, 6, 16]; // and this many calls in addition to the first

/** Weights that only count their versions. Each step comes after some turns of the event loop. */
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
    save: (dir) => writeFile(path.join(dir, 'version'), String(version)),
    load: async (dir) => void (version = Number(await readFile(path.join(dir, 'version'), 'utf8'))),
    close: () => Promise.resolve(),
  };
}

const onlyRunOf = (experimentDir: string): string =>
  path.join(experimentDir, 'pacing', readdirSync(path.join(experimentDir, 'pacing'))[0] ?? '');
const repeatOf = (tuner: Tuner): number => Number(/-r(\d+)/.exec(tuner.episodeId)?.[1] ?? 0);

/** An episode with more calls gets a higher reward. */
async function talk(task: Task, tuner: Tuner) {
  const reward = rewards[repeatOf(tuner)] ?? 0;
  const model = tuner.selectModel({ agentName: 'talker' }, (tuned) => tuned);
  for (let call = 0; call <= reward; call++)
    await model.generate({ messages: [{ role: 'user', content: `${task.mainQuery}, part ${call}` }] });
  return { reward };
}

/** Like `talk`, but the best episode of every fourth task never ends by itself. */
async function talkOrHang(task: Task, tuner: Tuner) {
  if (Number(task.mainQuery) % 4 === 0 && repeatOf(tuner) === rewards.length - 1) {
    await talk(task, tuner);
    await new Promise(() => {});
  }
  return talk(task, tuner);
}

const steps = 4;

type TrainOptions = {
  readonly experimentDir?: string;
  readonly resume?: boolean;
  readonly signal?: AbortSignal;
  readonly onStep?: (step: number) => void;
};

async function train(workflow: typeof talk, config: ConfigInput, given: TrainOptions = {}): Promise<readonly Row[]> {
  const { experimentDir = mkdtempSync(path.join(tmpdir(), 'ajet-pacing-')), ...tuning } = given;
  const modelDir = path.join(experimentDir, 'model');
  if (tuning.resume !== true) await writeTinyModel(modelDir);
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
  const { runDir } = await job.tune({
    ...tuning,
    onEvent: (event) => {
      if (event.type === 'notice') notices.push(event.message);
      if (event.type === 'step_finished') given.onStep?.(event.step);
    },
  });
  if (runDir === null) throw new Error('nothing was written');
  return readMetrics(runDir);
}

const notices: string[] = [];

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

  it('reports how far it is from that if it gives stragglers up', async () => {
    const metrics = await train(talkOrHang, {
      rollout: { stragglerPatience: 0.2 },
      trainerCommon: { maxStaleness: 1 },
    });
    const given = metrics.filter((row) => row['stale_episodes'] !== 0);
    expect(metrics.reduce((sum, row) => sum + Number(row['stale_episodes']), 0)).toBe(4 * rewards.length);
    for (const row of given) {
      expect(row['cut_attempts_share']).toBeGreaterThan(0);
    }
    expect(notices).toContainEqual(expect.stringMatching(/groups were given up .*straggler_patience/));
  });

  it('loses no draw to outages, to being interrupted, or to both, and draws none twice', async () => {
    const experimentDir = mkdtempSync(path.join(tmpdir(), 'ajet-pacing-'));
    const random = createRandom(3);
    const flaky = async (task: Task, tuner: Tuner) => {
      const isLost = random.next() < 0.2;
      const output = await talk(task, tuner);
      if (isLost) throw new Outage('the service is away', { host: `host ${random.int(1e6)}` });
      return output;
    };
    const config: ConfigInput = { rollout: { maxEnvWorker: 12, maxAttempts: 20 }, trainerCommon: { maxStaleness: 2 } };
    const stop = new AbortController();
    const onStep = (step: number): void => void (step === 2 && stop.abort());
    const first = await train(flaky, config, { experimentDir, signal: stop.signal, onStep });
    expect(first).toHaveLength(2);
    const metrics = await train(flaky, config, { experimentDir, resume: true });
    expect(metrics.map((row) => row['step'])).toEqual([1, 2, 3, 4]);
    for (const row of metrics) {
      expect(row).toMatchObject({ episodes: 32, failed_episodes: 0, stale_episodes: 0, groups_skipped: 0 });
      expect(row['outages']).toBeGreaterThan(0);
      expect(row['staleness_max']).toBeLessThanOrEqual(2);
      expect(row['cut_attempts_share']).toBeGreaterThan(0);
    }
    const trained = readEpisodes(onlyRunOf(experimentDir)).filter(({ status }) => status === 'completed');
    expect(trained).toHaveLength(4 * steps * rewards.length);
    expect(new Set(trained.map((row) => `${String(row['task_id'])} ${String(row['repeat_index'])}`)).size).toBe(
      4 * steps * rewards.length,
    );
  });

  it('keeps the lines of a run on-policy as they are', async () => {
    const [row = {}] = await train(talk, {});
    expect(Object.keys(row).filter((key) => key.startsWith('trained_over') || key.startsWith('cut_'))).toEqual([]);
  });
});
