import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { configuration } from 'agentjet';
import { defaultPolicy, foldStore, lineOf, LmdbStore, RecordIndex, type LedgerState } from '@agentjet/ledger';
import { openServedRun, type ServedPolicy } from '@agentjet/swarm-server/served';
import { ModelTrainer } from '@agentjet/swarm-server/testing';
import { createServedConfig } from './served-config.js';

/** Returns the run folder that servers on this experiment folder write. */
export function findRun(dir: string): string {
  const experiment = path.join(dir, 'kills');
  const [run, ...others] = readdirSync(experiment);
  if (run === undefined || others.length > 0)
    throw new Error(`${experiment} holds ${others.length + 1} runs, not one.`);
  return path.join(experiment, run);
}

/** Computes the state of a run's ledger without a server. */
export async function foldRun(
  run: string,
): Promise<{ readonly state: LedgerState; readonly records: RecordIndex; readonly close: () => Promise<void> }> {
  const store = await LmdbStore.open(path.join(run, 'ledger'), { isReadOnly: true });
  const records = new RecordIndex(store);
  const { state } = foldStore(store, records.note);
  return { state, records, close: () => store.close() };
}

/** Returns the folder of a policy's metrics and checkpoints. */
const folderOf = (run: string, policy: string): string =>
  policy === defaultPolicy ? run : path.join(run, 'policies', policy);

/** Returns the steps of the checkpoints that are kept of a policy, the oldest first. */
export function checkpointsOf(run: string, policy: string): readonly number[] {
  const dir = path.join(folderOf(run, policy), 'checkpoints');
  const names = existsSync(dir) ? readdirSync(dir).filter((name) => /^step-\d+$/.test(name)) : [];
  return names.map((name) => Number(name.slice(5))).sort((a, b) => a - b);
}

/**
 * Finds the policies whose newest checkpoint is wrong. The servers were killed and have repeated steps. This function
 * loads the oldest checkpoint and makes every later step once and in order. The newest checkpoint must hold the same
 * bytes as the result. It begins at the oldest checkpoint because the records of earlier steps may be removed.
 */
export async function findWrongWeights(run: string, scratch: string, numPolicies: number): Promise<readonly string[]> {
  const { state, records, close } = await foldRun(run);
  const config = createServedConfig(scratch, numPolicies);
  const served = await openServedRun({ config, composition: configuration, isNew: true, onNotice: () => {} });
  try {
    const wrong: string[] = [];
    for (const policy of served.policies)
      if (!(await isExact(policy, { run, state, records }))) wrong.push(policy.name);
    return wrong;
  } finally {
    await served.close();
    await close();
  }
}

type Killed = { readonly run: string; readonly state: LedgerState; readonly records: RecordIndex };

async function isExact(policy: ServedPolicy, { run, state, records }: Killed): Promise<boolean> {
  const { name, config, folder, openWeights } = policy;
  const { manifests, outcomes } = lineOf(state, name);
  const steps = checkpointsOf(run, name);
  const oldest = (steps.length > 1 ? steps[0] : undefined) ?? 0;
  const newest = steps.at(-1) ?? 0;
  const weights = await openWeights();
  if (oldest > 0) {
    const checkpoint = checkpointName(oldest);
    cpSync(path.join(folderOf(run, name), checkpoint), path.join(folder.dir, checkpoint), { recursive: true });
    await weights.load(oldest);
  }
  const trainer = new ModelTrainer({ policy: name, config, weights, folder, records, version: '' });
  for (let step = oldest + 1; step <= newest; step++) {
    const manifest = manifests.get(step);
    if (manifest === undefined) throw new Error(`The manifest of step ${step} is gone.`);
    for (let index = 0; index < manifest.optimizerSteps.length; index++)
      await trainer.optimize(manifest, index, outcomes.get(step)?.[index]);
  }
  await weights.save(newest);
  await weights.close();
  const [made, expected] = [folderOf(run, name), folder.dir].map((dir) => readWeights(dir, newest));
  return made !== undefined && expected !== undefined && made.equals(expected);
}

const readWeights = (dir: string, step: number): Buffer =>
  readFileSync(path.join(dir, checkpointName(step), 'model.safetensors'));

const checkpointName = (step: number): string => path.join('checkpoints', `step-${String(step).padStart(6, '0')}`);
