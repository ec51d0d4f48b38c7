import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import type { Backbone, Sample, TrainBatch } from '@agentjet/core';
import { describe, expect, test } from 'vitest';

import { packFor } from '../../packing/pack-for.js';
import { makeTinyModel } from '../torch/testing-worker.js';
import { asksVerl, startTinyVerl } from './testing-driver.js';

type Found = { readonly pid: number; readonly command: string };

/** Lists the process and all processes that it has started, as Linux knows them. */
function findDescendants(root: number): readonly Found[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const parent = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1];
      parents.set(Number(name), Number(parent));
    } catch {
      // it has ended in the meantime
    }
  }
  const isBelow = (pid: number): boolean => pid === root || (parents.has(pid) && isBelow(parents.get(pid) ?? 0));
  return [...parents.keys()].filter(isBelow).flatMap((pid) => {
    try {
      return [{ pid, command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') }];
    } catch {
      return [];
    }
  });
}

function findOne(root: number, text: RegExp): number {
  return findDescendants(root).find(({ command }) => text.test(command))?.pid ?? expect.unreachable(`no ${text}`);
}

async function waitForEnd(pids: readonly number[]): Promise<void> {
  for (let tries = 0; pids.some(isAlive); tries += 1) {
    if (tries > 600) expect.unreachable(`still there: ${pids.filter(isAlive).join(', ')}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

function batchFor(backbone: Backbone): TrainBatch {
  const sample: Sample = {
    episodeId: 'episode',
    agentName: 'agent',
    targetTag: 'agent',
    ids: Int32Array.of(5, 6, 7, 8),
    lossMask: Uint8Array.of(0, 0, 1, 1),
    logprobs: Float32Array.of(0, 0, -4, -4),
    policyVersions: Int32Array.of(-1, -1, 0, 0),
    advantages: Float32Array.of(0, 0, 1, 1),
  };
  return { packs: packFor(backbone, [sample], { maxPackTokens: 64 }).packs, loss: { kind: 'sft' } };
}

const isHere = asksVerl && process.platform === 'linux';

describe.skipIf(!isHere)('verl on a Ray that it has started', { timeout: 900_000 }, () => {
  test('ends with a readable error when a worker is lost, leaves no process, and resumes from its checkpoint', async () => {
    const dir = path.join(mkdtempSync(path.join(os.tmpdir(), 'ajet-verl-')), 'checkpoint');
    const modelDir = await makeTinyModel();
    const first = await startTinyVerl(modelDir);
    await first.trainStep(batchFor(first));
    await first.save(dir);
    const expected = await first.trainStep(batchFor(first));
    const all = findDescendants(first.driverPid).map(({ pid }) => pid);
    process.kill(findOne(first.driverPid, /ray::.*RowWorker/), 'SIGKILL');
    await expect(first.trainStep(batchFor(first))).rejects.toMatchObject({
      code: 'worker_died',
      message: expect.stringMatching(/verl worker was lost.*last checkpoint/) as unknown,
    });
    await first.close();
    await waitForEnd(all);

    const second = await startTinyVerl(modelDir);
    await second.load(dir);
    expect(second.policyVersion).toBe(1);
    const found = await second.trainStep(batchFor(second));
    expect(found.loss).toBeCloseTo(expected.loss, 6);
    expect(found.gradNorm).toBeCloseTo(expected.gradNorm ?? Number.NaN, 5);
    await second.close();
  });

  test('ends with a readable error when Ray dies', async () => {
    const backbone = await startTinyVerl(await makeTinyModel());
    const all = findDescendants(backbone.driverPid).map(({ pid }) => pid);
    process.kill(findOne(backbone.driverPid, /raylet\/raylet/), 'SIGKILL');
    await expect(backbone.trainStep(batchFor(backbone))).rejects.toMatchObject({
      code: 'worker_died',
      message: expect.stringMatching(/last checkpoint/) as unknown,
    });
    await backbone.close();
    await waitForEnd(all);
  });
});

describe.skipIf(!isHere)('verl on a Ray cluster', { timeout: 900_000 }, () => {
  test('says how to start it if there is none', async () => {
    const start = startTinyVerl(await makeTinyModel(), { rayAddress: '127.0.0.1:1' });
    await expect(start).rejects.toMatchObject({
      code: 'no_ray',
      message: expect.stringMatching(/127\.0\.0\.1:1.*ray start --head/) as unknown,
    });
  });
});
