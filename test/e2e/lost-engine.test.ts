import { readFileSync } from 'node:fs';
import path from 'node:path';
import { AgentJetJob, BackboneError, type Backbone, type JobEvent } from 'agentjet';
import { createOnnxBackbone } from '@agentjet/trainer';
import { beforeAll, describe, expect, it } from 'vitest';
import { createScratchFolder } from './support/job-folder.js';
import { readMetrics } from './support/read-run.js';
import { writeTinyModel } from './support/tiny-model.js';

let modelDir: string;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});

const optimizer = {
  learningRate: 0.01,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0,
  maxGradNorm: 1,
  schedule: 'constant',
  warmupSteps: 0,
  totalSteps: 4,
} as const;

/** A real backbone that can lose its process: after `kill`, every call rejects. */
async function openMortal(): Promise<{ readonly backbone: Backbone; readonly kill: () => void }> {
  const alive = await createOnnxBackbone({ modelDir, optimizer, threads: 1, isInThread: true });
  const death = new AbortController();
  const error = new BackboneError('worker_died', 'The worker was ended by SIGKILL.');
  const dead = new Promise<never>((_, reject) => death.signal.addEventListener('abort', () => reject(error)));
  dead.catch(() => undefined);
  const orDie = async <Result>(work: () => Promise<Result>): Promise<Result> =>
    Promise.race([dead, death.signal.aborted ? dead : work()]);
  const { contextLength } = alive.engine;
  const backbone: Backbone = {
    engine: { contextLength, generate: (request) => orDie(() => alive.engine.generate(request)) },
    capabilities: alive.capabilities,
    modelDir,
    gone: death.signal,
    get policyVersion() {
      return alive.policyVersion;
    },
    trainStep: (batch, options) => orDie(() => alive.trainStep(batch, options)),
    logprobs: (rows) => orDie(() => alive.logprobs(rows)),
    save: (dir) => orDie(() => alive.save(dir)),
    load: (dir) => orDie(() => alive.load(dir)),
    close: () => alive.close(),
  };
  return { backbone, kill: () => death.abort(error) };
}

type Agent = Parameters<AgentJetJob['setWorkflow']>[0];

/** An agent that takes every failure for an answer, as agents with many calls do. */
const stubborn: Agent = async (task, tuner) => {
  const model = tuner.selectModel({ agentName: 'speaker' }, (tuned) => tuned);
  let text = '';
  for (let call = 0; call < 3; call++) {
    const answered = await model
      .generate({ messages: [{ role: 'user', content: task.mainQuery }] })
      .catch(() => undefined);
    text += answered?.message.content ?? '';
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const letters = text.match(/[a-z]/gi)?.length ?? 0;
  return { reward: letters / 24, isSuccess: letters > 8 };
};

function createJob(experimentDir: string, backbone: Backbone, maxStaleness = 0): AgentJetJob {
  return new AgentJetJob({
    model: modelDir,
    backbone,
    experimentDir,
    experimentName: 'lost',
    numRepeat: 4,
    batchSize: 2,
    maxPromptLength: 128,
    maxResponseLength: 128,
    maxModelLen: 256,
    maxResponseLengthInOneTurn: 8,
    config: { trainerCommon: { totalTrainingSteps: 4, testFreq: 2, saveFreq: 1, valBeforeTrain: true, maxStaleness } },
  })
    .setWorkflow(stubborn)
    .setData({
      training: async function* () {
        for (let index = 0; ; index++) yield { taskId: `song-${index}`, mainQuery: `Sing ${index}` };
      },
      validation: [{ taskId: 'encore', mainQuery: 'Sing again' }],
    });
}

const isPhase =
  (phase: string, step: number) =>
  (event: JobEvent): boolean =>
    event.type === 'phase_started' && event.phase === phase && event.step === step;

const firstEpisode =
  (phase: string) =>
  (event: JobEvent): boolean =>
    event.type === 'episode_finished' && event.phase === phase && event.step > 0;

describe('a run whose engine has lost its process', () => {
  it.each([
    ['the evaluation before training', isPhase('evaluate', 0), 0],
    ['the middle of a batch', firstEpisode('sample'), 0],
    ['a step', isPhase('train', 2), 0],
    ['a later evaluation', isPhase('evaluate', 2), 0],
    ['a step, while the next batch is sampled', isPhase('train', 2), 2],
  ])('ends at once in %s, with the cause, and can be resumed', async (_name, isTime, maxStaleness) => {
    const experimentDir = createScratchFolder();
    const { backbone, kill } = await openMortal();
    const notices: string[] = [];
    let killedAt = 0;
    const running = createJob(experimentDir, backbone, maxStaleness).tune({
      onEvent: (event) => {
        if (event.type === 'notice') notices.push(event.message);
        if (killedAt > 0 || !isTime(event)) return;
        killedAt = performance.now();
        setTimeout(kill);
      },
    });
    await expect(running).rejects.toMatchObject({ code: 'worker_died', message: 'The worker was ended by SIGKILL.' });
    expect(performance.now() - killedAt).toBeLessThan(5000);
    expect(notices.filter((message) => /Paused|episodes failed/.test(message))).toEqual([]);

    const again = await openMortal();
    const resumed = await createJob(experimentDir, again.backbone, maxStaleness).tune({
      resume: true,
      onEvent: () => {},
    });
    expect(resumed).toMatchObject({ isInterrupted: false, policyVersion: 4, successAfter: expect.any(Number) });
    const run = String(resumed.runDir);
    expect(readMetrics(run).map(({ step, failed_episodes: failed }) => [step, failed])).toEqual([
      [1, 0],
      [2, 0],
      [3, 0],
      [4, 0],
    ]);
    expect(readFileSync(path.join(run, 'evaluations.jsonl'), 'utf8').trim().split('\n')).toHaveLength(3);
  });

  it('ends an evaluation, which has no success rate then', async () => {
    const { backbone, kill } = await openMortal();
    const evaluating = createJob(createScratchFolder(), backbone).evaluate({
      onEvent: (event) => event.type === 'phase_started' && setTimeout(kill),
    });
    await expect(evaluating).rejects.toMatchObject({ code: 'worker_died' });
  });
});
