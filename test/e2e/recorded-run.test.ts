import { readFileSync } from 'node:fs';
import path from 'node:path';
import { foldStore, LmdbStore, verifyStore, type LedgerState } from '@agentjet/ledger';
import { beforeAll, expect, it } from 'vitest';
import { longIt } from '../long-tests.js';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';
import { listCheckpoints, onlyRun, readMetrics, readRepeatableEpisodes, readRows } from './support/read-run.js';
import { runAjet, startAjet, type Finished } from './support/run-ajet.js';
import { writeTinyModel } from './support/tiny-model.js';

/**
 * If an ordinary run was killed, it does not repeat any sampling that its ledger holds. It repeats the steps since its
 * checkpoint from recorded tokens, keeps the episodes that had finished, and ends with the same weights as a run that
 * was never killed.
 */

const train = ['--conf', 'job.yaml'];

/** Writes down each episode that it begins. Its pauses differ in each run. */
const noting = `
import { appendFileSync } from 'node:fs';
const pause = () => new Promise((resolve) => setTimeout(resolve, 10 * Math.random()));
export async function sayLetters(task, tuner) {
  appendFileSync('begun.txt', tuner.episodeId + '\\n');
  const model = tuner.selectModel({ agentName: 'speaker' }, (tuned) => tuned);
  await pause();
  const { message } = await model.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
  await pause();
  const letters = message.content.match(/[a-z]/gi)?.length ?? 0;
  return { reward: letters / 8, isSuccess: letters > 2, logMetrics: { letters } };
}
`;

/** The embedded backbone, which ends its process at the point that DIE_AT names. */
const fragile = `
import { backbones } from '@agentjet/trainer/registrations';
const [onnx] = backbones;
const dieAt = (point) => {
  if (process.env.DIE_AT === point) process.kill(process.pid, 'SIGKILL');
};
export const fragile = {
  ...onnx,
  name: 'fragile',
  async open(section, parts) {
    const backbone = await onnx.open(section, parts);
    const own = {
      async trainStep(batch) {
        const step = backbone.policyVersion + 1;
        dieAt('manifest ' + step);
        const metrics = await backbone.trainStep(batch);
        dieAt('step ' + step);
        return metrics;
      },
      async save(dir) {
        dieAt('save ' + backbone.policyVersion);
        await backbone.save(dir);
      },
    };
    return new Proxy(backbone, {
      get(target, name) {
        const value = own[name] ?? Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  },
};
`;

const settings = {
  backbone: 'backbone.ts->fragile',
  trainer_common: { save_freq: 3, total_training_steps: 7, test_freq: 2, val_before_train: true },
};

const inProcesses = 'rollout.workflow_processes=2';

let modelDir: string;
let whole: { readonly run: string; readonly folder: string };

const createJob = (): string => createJobFolder(modelDir, { 'agent.ts': noting, 'backbone.ts': fragile }, settings);

beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
  const folder = createJob();
  expect(await runAjet(folder, train)).toMatchObject({ code: 0 });
  whole = { run: onlyRun(folder), folder };
});

async function readLedger<T>(run: string, read: (store: LmdbStore) => T): Promise<T> {
  const store = await LmdbStore.open(path.join(run, 'recorded'), { isReadOnly: true });
  try {
    return read(store);
  } finally {
    await store.close();
  }
}

const readState = (run: string): Promise<LedgerState> => readLedger(run, (store) => foldStore(store).state);

/** Returns the names of the episodes that have ended. A name says where the episode is in its step. */
const endedIn = ({ episodes }: LedgerState): readonly string[] =>
  [...episodes.values()].filter(({ end }) => end !== undefined).map(({ claimId }) => claimId.split(' ').at(-1) ?? '');

const readBegun = (folder: string): readonly string[] =>
  readFileSync(path.join(folder, 'begun.txt'), 'utf8').trim().split('\n');

const withoutSeconds = (row: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith('seconds')));

const readEvaluations = (run: string): readonly object[] =>
  readRows(path.join(run, 'evaluations.jsonl')).map(withoutSeconds);

const readWeights = (run: string): Buffer =>
  readFileSync(path.join(run, 'checkpoints', listCheckpoints(run).at(-1) ?? '', 'model.safetensors'));

async function expectEqualToWhole(run: string): Promise<void> {
  expect(readMetrics(run)).toEqual(readMetrics(whole.run));
  expect(readEvaluations(run)).toEqual(readEvaluations(whole.run));
  expect(readRepeatableEpisodes(run)).toEqual(readRepeatableEpisodes(whole.run));
  expect(readWeights(run).equals(readWeights(whole.run))).toBe(true);
  const verdict = await readLedger(run, verifyStore);
  const episodes = readMetrics(run).reduce((sum, { episodes = 0 }) => sum + Number(episodes), 0);
  expect(verdict).toMatchObject({ isSound: true, steps: 7, account: { assigned: 0, pooled: 0, running: 0 } });
  if (!verdict.isSound) return;
  const { trained, droppedByReason } = verdict.account;
  expect(trained + (droppedByReason.nothing_to_train ?? 0)).toBe(episodes);
}

/** Resumes after a kill. Nothing that had ended is sampled again. */
async function resume(folder: string, env: NodeJS.ProcessEnv = {}): Promise<Finished> {
  const ended = new Set(endedIn(await readState(onlyRun(folder))));
  const numBegun = readBegun(folder).length;
  const finished = await runAjet(folder, [...train, '--resume'], { env });
  const again = readBegun(folder).slice(numBegun);
  expect(again.filter((id) => ended.has(id))).toEqual([]);
  return finished;
}

it('makes a step again from its manifest, wherever in it the process died', async () => {
  const folder = createJob();
  const killed = await runAjet(folder, train, { env: { DIE_AT: 'manifest 5' } });
  expect(killed.signal).toBe('SIGKILL');
  const run = onlyRun(folder);
  expect((await readState(run)).step).toBe(5);
  expect(listCheckpoints(run)).toEqual(['step-000003']);
  const inRedo = await resume(folder, { DIE_AT: 'step 5' });
  expect(inRedo).toMatchObject({ signal: 'SIGKILL', stdout: expect.stringMatching(/Repeating steps 4 to 5/) });
  const beforeSaving = await resume(folder, { DIE_AT: 'save 6' });
  expect(beforeSaving).toMatchObject({ signal: 'SIGKILL', stdout: expect.stringMatching(/Repeating steps 4 to 5/) });
  const last = await resume(folder);
  expect(last).toMatchObject({ code: 0, stdout: expect.stringMatching(/Repeating steps 4 to 6/) });
  await expectEqualToWhole(run);
});

longIt('samples nothing again that had ended, killed at any moment, with workflows in other processes', async () => {
  const folder = createJob();
  const first = startAjet(folder, [...train, inProcesses]);
  await first.waitFor(/step 2\/7/);
  first.child.kill('SIGKILL');
  await first.finished;
  const ended = new Set(endedIn(await readState(onlyRun(folder))));
  const numBegun = readBegun(folder).length;
  const resumed = startAjet(folder, [...train, '--resume', inProcesses]);
  await resumed.waitFor(/^run /m);
  setTimeout(() => resumed.child.kill('SIGKILL'), Math.random() * 500);
  await resumed.finished;
  const again = readBegun(folder).slice(numBegun);
  expect(again.filter((id) => ended.has(id))).toEqual([]);
  expect((await resume(folder)).code).toBe(0);
  await expectEqualToWhole(onlyRun(folder));
});

longIt('saves when making the steps again would take longer than swarm.recovery_budget', async () => {
  const folder = createJob();
  const budget = [
    'swarm.recovery_budget=0.000001',
    'trainer_common.save_freq=0',
    'trainer_common.total_training_steps=2',
  ];
  expect(await runAjet(folder, [...train, ...budget], { env: { DIE_AT: 'manifest 2' } })).toMatchObject({
    signal: 'SIGKILL',
  });
  expect(listCheckpoints(onlyRun(folder))).toEqual(['step-000001']);
});
