import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Backbone } from '@agentjet/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOnnxBackbone } from '../embedded/create-onnx-backbone.js';
import type { LoraOptions } from '../lora-options.js';
import { hasTorch, makeTinyModel, sftBatch, startTiny, testOptimizer, testPython } from './testing-worker.js';
import { torchHome } from '../python-worker/find-python.js';

const timeout = 600_000; // Python starts up to four times in a test
const lora: LoraOptions = { rank: 4, alpha: 8, targetModules: ['q_proj', 'down_proj'] };
const row = [5, 6, 7, 8, 3, 1, 2];

/** PEFT writes an adapter, or scores the row with one. */
async function askPeft(...args: readonly string[]): Promise<string> {
  const script = path.join(torchHome.dir, 'tests/peft_adapter.py');
  return (await promisify(execFile)(testPython, [script, ...args])).stdout;
}

describe.skipIf(!hasTorch)('an adapter', { timeout }, () => {
  let [base, dir] = ['', ''];
  beforeAll(async () => {
    [base, dir] = [await makeTinyModel(), await mkdtemp(path.join(tmpdir(), 'adapters-'))];
  });
  afterAll(() => Promise.all([path.dirname(base), dir].map((each) => rm(each, { recursive: true }))));

  const onnx = (start?: string): Promise<Backbone> =>
    createOnnxBackbone({
      modelDir: base,
      optimizer: testOptimizer,
      lora: { ...lora, ...(start !== undefined && { start }) },
      threads: 1,
      isInThread: true,
    });
  const torch = (start?: string): Promise<Backbone> =>
    startTiny(base, { dtype: 'float32', lora: { ...lora, ...(start !== undefined && { start }) } });

  async function scores(backbone: Backbone): Promise<readonly number[]> {
    const [found] = await backbone.logprobs([{ ids: Int32Array.from(row) }]);
    return [...(found ?? [])].slice(1);
  }

  async function peftScores(adapter: string): Promise<readonly number[]> {
    const lines = (await askPeft('score', base, adapter, JSON.stringify(row))).trim().split('\n');
    return JSON.parse(lines.at(-1) ?? '') as readonly number[];
  }

  const expectClose = (found: readonly number[], wanted: readonly number[]): void => {
    expect(found).toHaveLength(wanted.length);
    found.forEach((value, at) => expect(value).toBeCloseTo(wanted[at] ?? Number.NaN, 4));
  };

  it('that PEFT wrote is what onnx and torch begin with', async () => {
    const adapter = path.join(dir, 'from-peft');
    await askPeft('make', base, adapter);
    const wanted = await peftScores(adapter);
    const plain = await onnx();
    expect(Math.abs(((await scores(plain))[3] ?? 0) - (wanted[3] ?? 0))).toBeGreaterThan(1e-3);
    await plain.close();
    for (const open of [onnx, torch]) {
      const begun = await open(adapter);
      expectClose(await scores(begun), wanted);
      await begun.close();
    }
  });

  it.each([
    ['onnx', onnx, torch, ''],
    ['torch', torch, onnx, 'adapter'],
  ] as const)('that %s wrote is opened by PEFT and by the other backbone', async (name, open, openOther, folder) => {
    const backbone = await open();
    for (let step = 0; step < 3; step++) await backbone.trainStep(sftBatch());
    const checkpoint = path.join(dir, `from-${name}`);
    await backbone.save(checkpoint);
    const wanted = await scores(backbone);
    await backbone.close();
    const adapter = path.join(checkpoint, folder);
    expectClose(await peftScores(adapter), wanted);
    const other = await openOther(adapter);
    expectClose(await scores(other), wanted);
    await other.close();
  });

  it('of other settings is refused by both', async () => {
    const adapter = path.join(dir, 'from-peft');
    const other = { ...lora, rank: 8, start: adapter };
    const refusal = /Cannot begin with the adapter lora\.adapter .*from-peft: .* Set lora\.rank/;
    const opened = createOnnxBackbone({ modelDir: base, optimizer: testOptimizer, lora: other, isInThread: true });
    await expect(opened).rejects.toThrow(/Cannot begin with the adapter lora\.adapter .*from-peft: .*lora\.rank/);
    await expect(startTiny(base, { lora: other })).rejects.toThrow(refusal);
  });
});
