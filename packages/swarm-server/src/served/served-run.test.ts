import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createConfig, testComposition, type ConfigInput } from '@agentjet/inputs/testing';
import type { AvailableMemory } from '@agentjet/models';
import { findLedgerOfRun } from '@agentjet/run-folder';
import { openServedRun } from './served-run.js';

let experimentDir = '';
const notices: string[] = [];
beforeEach(() => {
  experimentDir = mkdtempSync(path.join(tmpdir(), 'ajet-served-'));
  notices.length = 0;
});
afterEach(() => rmSync(experimentDir, { recursive: true, force: true }));

const policies = { planner: { trainableTargets: ['planner'] }, worker: { trainableTargets: ['worker'] } };

async function open(own: ConfigInput = {}, memory?: AvailableMemory): Promise<void> {
  const config = createConfig({ experimentDir, model: { path: 'nano' }, ...own });
  const onNotice = (message: string): void => void notices.push(message);
  const run = await openServedRun({ config, composition: testComposition, isNew: true, onNotice, memory });
  await run.close();
}

describe('the first lines of a served run', () => {
  const told = String.raw`model nano \(468\.6k parameters, .* of .*, a step up to about .*\)`;

  it('say parameters, memory and time of its model', async () => {
    await open();
    expect(notices).toContainEqual(expect.stringMatching(new RegExp(`^${told}$`)));
  });

  it('say them of each policy', async () => {
    await open({ swarm: { policies } });
    for (const name of ['planner', 'worker'])
      expect(notices).toContainEqual(expect.stringMatching(new RegExp(`^${name}: ${told}$`)));
  });
});

it.each([
  [
    { optim: { lrSchedulerType: 'linear' } },
    'trainer_common.optim.lr_scheduler_type is linear, which needs the number',
  ],
  [{ optim: { lrWarmupStepsRatio: 0.1 } }, 'trainer_common.optim.lr_warmup_steps_ratio is 0.1, which needs the number'],
] as const)('refuses %j without a number of steps', async (trainerCommon, message) => {
  await expect(open({ trainerCommon })).rejects.toThrow(message);
});

it('is refused before anything is written if its models do not fit together', async () => {
  const memory = { bytes: 2.5 * 2 ** 30, limitedBy: 'container' as const };
  await open({}, memory);
  rmSync(experimentDir, { recursive: true });
  mkdirSync(experimentDir);
  await expect(open({ swarm: { policies } }, memory)).rejects.toMatchObject({
    code: 'not_enough_memory',
    message: expect.stringMatching(
      /available in this container: planner \(nano\) .* bytes\), worker \(nano\) /,
    ) as unknown,
  });
  expect(readdirSync(experimentDir)).toEqual([]);
});

describe('the ledger of a run with swarm.store_dir', () => {
  type Places = { readonly dir: string; readonly storeDir: string };
  const openIn = async (
    storeDir: string,
    more: { readonly isNew?: boolean; readonly run?: string },
  ): Promise<Places> => {
    const config = createConfig({ experimentDir, model: { path: 'nano' }, swarm: { storeDir } });
    const served = await openServedRun({ config, composition: testComposition, onNotice: () => undefined, ...more });
    await served.close();
    return { dir: served.folder.dir, storeDir: served.storeDir };
  };
  const begin = ({ storeDir }: Places): void => {
    mkdirSync(storeDir, { recursive: true });
    writeFileSync(path.join(storeDir, '000001.mdb'), '');
  };

  it('is in a folder of its run, which is found from the run folder', async () => {
    const store = path.join(experimentDir, 'store');
    const first = await openIn(store, {});
    begin(first);
    expect(await openIn(store, {})).toEqual(first);
    const second = await openIn(store, { isNew: true });
    expect(second.storeDir).not.toBe(first.storeDir);
    begin(second);
    expect(await openIn(store, {})).toEqual(second);
    expect(await openIn(store, { run: first.dir })).toEqual(first);
    expect(findLedgerOfRun(first.dir)).toEqual({ dir: first.storeDir, name: 'ledger' });
  });

  it('is refused if an older version wrote it into the store folder itself', async () => {
    const store = path.join(experimentDir, 'older-store');
    const { dir } = await openIn(store, { isNew: true });
    begin({ dir, storeDir: store });
    await expect(openIn(store, { run: dir })).rejects.toMatchObject({
      code: 'older_format',
      message: expect.stringContaining(`The ledger in the folder ${store} (swarm.store_dir)`),
    });
    expect((await openIn(store, { isNew: true })).dir).not.toBe(dir);
  });
});

it('keeps the folder of a resumed run whose weights cannot be opened, and removes the folder of a new one', async () => {
  const openWith = async (more: { readonly run?: string }) => {
    const config = createConfig({ experimentDir, model: { path: 'nano' } });
    return openServedRun({ config, composition: testComposition, onNotice: () => undefined, ...more });
  };
  const first = await openWith({});
  await first.close();
  const fails = async (more: { readonly run?: string }): Promise<string> => {
    const run = await openWith(more);
    mkdirSync(path.join(run.folder.dir, 'model.json')); // the name of a file that is written first
    await expect(run.policies[0]?.openWeights()).rejects.toThrow();
    await run.close();
    return run.folder.dir;
  };
  expect(existsSync(await fails({ run: first.folder.dir }))).toBe(true);
  expect(existsSync(await fails({}))).toBe(false);
});

it('makes steps again to the last bit only with as many threads as before', async () => {
  const openWith = async (numThreads: number, goesOn?: string) => {
    const config = createConfig({ experimentDir, model: { path: 'nano' }, onnx: { numThreads } });
    const run = await openServedRun({ config, composition: testComposition, run: goesOn, onNotice: () => {} });
    const [policy] = run.policies;
    if (policy === undefined) throw new Error('There is no policy.');
    const weights = await policy.openWeights();
    const close = async (): Promise<void> => {
      await weights.close();
      await run.close();
    };
    return { weights, dir: run.folder.dir, close };
  };
  const first = await openWith(1);
  expect(first.weights.repeatsExactly).toBe(true);
  await first.weights.settle();
  await first.close();
  const second = await openWith(2, first.dir);
  expect(second.weights.repeatsExactly).toBe(false);
  await second.weights.settle();
  expect(second.weights.repeatsExactly).toBe(true);
  await second.close();
});
