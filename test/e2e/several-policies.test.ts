import { cpSync, symlinkSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import {
  AgentJetJob,
  configuration,
  type JobEvent,
  type JobResult,
  type Task,
  type TuneOptions,
  type Tuner,
} from 'agentjet';
import { formatEvent } from 'agentjet/printing';
import { SwarmClient } from '@agentjet/swarm-client';
import { serveSwarm } from '@agentjet/swarm-server';
import { beforeAll, expect, it } from 'vitest';
import { longIt } from '../long-tests.js';
import { createScratchFolder } from './support/job-folder.js';
import { readMetrics, readRows } from './support/read-run.js';
import { writeTinyModel } from './support/tiny-model.js';

/**
 * An ordinary run of two policies trains what a server and a client in separate programs train: all figures that do not
 * measure time are equal to the last digit.
 */

const createConfig = (modelDir: string) =>
  ({
    experimentDir: createScratchFolder(),
    experimentName: 'team',
    model: { path: modelDir },
    data: { trainBatchSize: 2, maxPromptLength: 128, maxResponseLength: 64 },
    rollout: { numRepeat: 4, maxModelLen: 256, maxResponseLengthInOneTurn: 6, maxEnvWorker: 8 },
    trainerCommon: {
      totalTrainingSteps: 3,
      valBeforeTrain: true,
      testFreq: 2,
      saveFreq: 2,
      maxEmptySteps: null,
      optim: { lr: 0.01 },
    },
    swarm: {
      order: 'drawn',
      policies: {
        planner: { trainableTargets: ['planner'] },
        worker: { trainableTargets: ['worker'], trainerCommon: { optim: { lr: 0.02 } } },
      },
    },
    onnx: { numThreads: 1 },
  }) as const;

const toTasks = (prefix: string, count: number): readonly Task[] =>
  Array.from({ length: count }, (_none, index) => ({
    taskId: `${prefix}${index}`,
    mainQuery: `Say ${index}.`,
    initMessages: [],
    metadata: {},
  }));
const data = { training: toTasks('t', 5), validation: toTasks('v', 2) };

async function ask(tuner: Tuner, agentName: string, content: string): Promise<string> {
  const model = tuner.selectModel({ agentName }, (each) => each);
  const { message } = await model.generate({ messages: [{ role: 'user', content }] });
  return String(message.content ?? '');
}

const sumOf = (text: string): number => [...text].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0);

async function work({ mainQuery }: Task, tuner: Tuner) {
  const plan = await ask(tuner, 'planner', mainQuery);
  const answer = await ask(tuner, 'worker', `${mainQuery} ${plan}`);
  const rewards = { planner: (sumOf(plan) % 10) / 10, worker: (sumOf(answer) % 7) / 7 };
  return { rewards, isSuccess: sumOf(answer) % 3 === 0 };
}

type Figures = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;

/** Removes the figures that measure time. */
const withoutTimes = (rows: readonly Readonly<Record<string, unknown>>[]) =>
  rows.map((row) => Object.fromEntries(Object.entries(row).filter(([key]) => !/seconds|per_second/.test(key))));

function readFigures(runDir: string): Figures {
  const of = (name: string): string => path.join(runDir, 'policies', name);
  return {
    planner: withoutTimes(readMetrics(of('planner'))),
    worker: withoutTimes(readMetrics(of('worker'))),
    evaluations: withoutTimes(readRows(path.join(of('planner'), 'evaluations.jsonl'))),
  };
}

type Trained = { readonly result: JobResult; readonly events: readonly JobEvent[]; readonly figures: Figures };

async function trainAlone(options: TuneOptions = {}, config = createConfig(modelDir)): Promise<Trained> {
  const events: JobEvent[] = [];
  const onEvent = (event: JobEvent): void => {
    events.push(event);
    options.onEvent?.(event);
  };
  const job = new AgentJetJob({ config }).setWorkflow(work).setData(data);
  const result = await job.tune({ ...options, onEvent });
  return { result, events, figures: readFigures(String(result.runDir)) };
}

async function trainInSwarm(): Promise<Figures> {
  const config = configuration.create(createConfig(modelDir));
  const served = await serveSwarm({ config, composition: configuration, port: 0, onNotice: () => undefined });
  try {
    const client = new SwarmClient({ url: served.server.url, key: served.server.firstKey });
    await client.run(work, { tasks: data.training, evaluationTasks: data.validation, parallel: 8 });
    await served.server.finish(0);
  } finally {
    await served.close();
  }
  return readFigures(served.runDir);
}

let modelDir: string;
let whole: Trained;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
  whole = await trainAlone();
});

it('trains two policies as a swarm does, to the last digit', async () => {
  const { planner, worker, evaluations } = whole.figures;
  expect(planner).toHaveLength(3);
  expect(worker).toHaveLength(3);
  expect(planner).not.toEqual(worker);
  expect(evaluations?.map((row) => row['step'])).toEqual([0, 2, 3]);
  expect(whole.figures).toEqual(await trainInSwarm());
});

it('reports its events, and the model of each policy', () => {
  const { result, events, figures } = whole;
  const at = (name: string): string => path.join(String(result.runDir), 'policies', name, 'checkpoints/step-000003');
  expect(result).toMatchObject({
    modelDir: null,
    policies: {
      planner: { modelDir: at('planner'), policyVersion: 3 },
      worker: { modelDir: at('worker'), policyVersion: 3 },
    },
    successBefore: figures['evaluations']?.[0]?.['success_rate'],
    successAfter: figures['evaluations']?.[2]?.['success_rate'],
    isInterrupted: false,
  });
  const types = (type: string): number => events.filter((event) => event.type === type).length;
  expect(types('evaluated')).toBe(3);
  expect(types('episode_finished')).toBe(3 * 8 + 3 * 2);
  expect(events.at(-1)).toEqual({ type: 'run_finished', result });
  const lines = events.flatMap((event) => formatEvent(event) ?? []);
  for (const policy of ['planner', 'worker'])
    for (const step of [1, 2, 3])
      expect(lines.filter((line) => line.startsWith(`${policy} step ${step}/3  `))).toHaveLength(1);
  expect(lines.find((line) => line.startsWith('run '))).toContain('3 steps of 2 tasks, 4 episodes each');
});

longIt(
  'stops at a signal after the running step with all checkpoints saved, and continues to the same figures',
  async () => {
    const config = createConfig(modelDir);
    const stop = new AbortController();
    const onEvent = (event: JobEvent): void => {
      if (event.type === 'step_finished') stop.abort(new Error('stopped by SIGINT'));
    };
    const { result } = await trainAlone({ signal: stop.signal, onEvent }, config);
    expect(result).toMatchObject({ isInterrupted: true, successAfter: null });
    for (const { modelDir: dir, policyVersion } of Object.values(result.policies ?? {}))
      expect(dir).toContain(`step-00000${policyVersion}`);
    const resumed = await trainAlone({ resume: true }, config);
    expect(resumed.result).toMatchObject({ runDir: result.runDir, isInterrupted: false, policyVersion: 3 });
    expect(resumed.figures).toEqual(whole.figures);
  },
);

longIt('goes back to a checkpoint of its policies, and trains the later steps again', async () => {
  const runDir = path.join(createScratchFolder(), 'copy');
  cpSync(String(whole.result.runDir), runDir, { recursive: true });
  const again = await trainAlone({ resume: runDir, from: 'planner=step-2,worker=step-2' });
  expect(again.result.policyVersion).toBe(3);
  expect(again.figures['planner']?.map((row) => row['step'])).toEqual([1, 2, 3]);
  await expect(trainAlone({ resume: runDir, from: 'step-1' })).rejects.toThrow(
    /no checkpoint .*step-000001\. Name one/,
  );
  await expect(trainAlone({ resume: runDir, from: 'other=step-2' })).rejects.toThrow(/"other".* planner, worker/);
});

it('ends with the reason if no episode can be trained', async () => {
  const broken = {
    ...createConfig(modelDir),
    trainerCommon: { ...createConfig(modelDir).trainerCommon, maxEmptySteps: 1 },
  };
  const job = new AgentJetJob({ config: broken }).setData(data).setWorkflow(async () => {
    throw new Error('The agent lost its way.');
  });
  await expect(job.tune({ onEvent: () => undefined })).rejects.toMatchObject({ code: 'nothing_trained' });
});

longIt('ends with the reason if a step cannot be recorded, and can be resumed', async () => {
  const config = createConfig(modelDir);
  let runDir = '';
  const fullFile = (): string => path.join(runDir, 'policies/planner/episodes/step-000002.jsonl');
  const onEvent = (event: JobEvent): void => {
    if (event.type === 'run_started') ({ runDir } = event);
    if (event.type === 'step_finished' && event.step === 1 && event.policy === 'planner')
      symlinkSync('/dev/full', fullFile());
  };
  await expect(trainAlone({ onEvent }, config)).rejects.toThrow(/Cannot write .*the disk is full/);
  unlinkSync(fullFile());
  expect((await trainAlone({ resume: true }, config)).figures).toEqual(whole.figures);
});

it("a server's own key opens it in this process only, and is not recorded", async () => {
  const config = configuration.create(createConfig(modelDir));
  const served = await serveSwarm({
    config,
    composition: configuration,
    app: { ownKey: 'own' },
    onNotice: () => undefined,
  });
  try {
    const ask = (key: string) => new SwarmClient({ url: served.server.url, key }).server();
    expect(served.server.firstKey).toBeUndefined();
    expect(served.server.swarm?.context.ledger.state.keys.size).toBe(0);
    expect(await ask('own')).toMatchObject({ policies: { planner: { step: 0 }, worker: { step: 0 } } });
    await expect(ask('owner')).rejects.toMatchObject({ code: 'unknown_key' });
  } finally {
    await served.close();
  }
});
