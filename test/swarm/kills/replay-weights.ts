import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { configuration } from 'agentjet';
import { foldStore, LmdbStore, RecordIndex, type LedgerState } from '@agentjet/ledger';
import { openServedRun } from '@agentjet/session/served';
import { ModelTrainer } from '@agentjet/swarm-server/testing';
import { createServedConfig } from './served-config.js';

/** The run folder that servers on this experiment folder write. */
export function findRun(dir: string): string {
  const experiment = path.join(dir, 'kills');
  const [run, ...others] = readdirSync(experiment);
  if (run === undefined || others.length > 0)
    throw new Error(`${experiment} holds ${others.length + 1} runs, not one.`);
  return path.join(experiment, run);
}

/** What the ledger of a run says, folded without a server. */
export async function foldRun(
  run: string,
): Promise<{ readonly state: LedgerState; readonly records: RecordIndex; readonly close: () => Promise<void> }> {
  const store = await LmdbStore.open(path.join(run, 'ledger'), { isReadOnly: true });
  const records = new RecordIndex(store);
  const { state } = foldStore(store, records.note);
  return { state, records, close: () => store.close() };
}

/** Steps of the checkpoints that are kept, the oldest first. */
export function checkpointsOf(run: string): readonly number[] {
  const dir = path.join(run, 'checkpoints');
  const names = existsSync(dir) ? readdirSync(dir).filter((name) => /^step-\d+$/.test(name)) : [];
  return names.map((name) => Number(name.slice(5))).sort((a, b) => a - b);
}

/**
 * Whether the newest checkpoint, made by servers that were killed and made steps again, holds the very bytes that making
 * every step after the oldest checkpoint once and in order gives. What the steps before it were made from may be gone.
 */
export async function areWeightsExact(run: string, scratch: string): Promise<boolean> {
  const { state, records, close } = await foldRun(run);
  const steps = checkpointsOf(run);
  const oldest = (steps.length > 1 ? steps[0] : undefined) ?? 0;
  const newest = steps.at(-1) ?? 0;
  const config = createServedConfig(scratch);
  const served = await openServedRun({ config, composition: configuration, isNew: true, onNotice: () => {} });
  try {
    const weights = await served.policies[0]?.openWeights();
    if (weights === undefined) throw new Error('The run has no model.');
    if (oldest > 0) {
      const name = checkpointName(oldest);
      cpSync(path.join(run, name), path.join(served.folder.dir, name), { recursive: true });
      await weights.load(oldest);
    }
    const trainer = new ModelTrainer({ weights, folder: served.folder, records, version: '' });
    for (let step = oldest + 1; step <= newest; step++) {
      const manifest = state.manifests.get(step);
      if (manifest === undefined) throw new Error(`The manifest of step ${step} is gone.`);
      for (let index = 0; index < manifest.optimizerSteps.length; index++)
        await trainer.optimize(manifest, index, state.outcomes.get(step)?.[index]);
    }
    await weights.save(newest);
    await weights.close();
    const [made, expected] = [run, served.folder.dir].map((dir) => readWeights(dir, newest));
    return made !== undefined && expected !== undefined && made.equals(expected);
  } finally {
    await served.close();
    await close();
  }
}

const readWeights = (run: string, step: number): Buffer =>
  readFileSync(path.join(run, checkpointName(step), 'model.safetensors'));

const checkpointName = (step: number): string => path.join('checkpoints', `step-${String(step).padStart(6, '0')}`);
