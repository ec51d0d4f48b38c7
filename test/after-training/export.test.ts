import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { exportTunedModel } from '@agentjet/models';
import { openTunedModel } from '@agentjet/models/answering';
import { nanoModelDir } from '@agentjet/nano';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');
const python = path.join(root, 'trainer/torch/.venv/bin/python');
const isAsked = process.env['AJET_LONG_TESTS'] === '1';
if (!existsSync(python) || !isAsked)
  console.warn(
    'Skipped what transformers makes of exported models: it wants trainer/torch/.venv and AJET_LONG_TESTS=1.',
  );

let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'export-'));
});
afterAll(() => rm(dir, { recursive: true }));

type Comparison = { readonly to_peft: number; readonly to_base: number; readonly said: string };

async function runPython(...args: readonly string[]): Promise<string> {
  const script = path.join(import.meta.dirname, 'adapter.py');
  return (await promisify(execFile)(python, [script, ...args])).stdout;
}

it.skipIf(!existsSync(python) || !isAsked)(
  'transformers opens a merged adapter, computes what peft does, and says what our engine says',
  async () => {
    const adapter = path.join(dir, 'adapter');
    const merged = path.join(dir, 'merged');
    const question = 'Ann has 12 nuts and loses 7. How many nuts are left?';
    await runPython('make', nanoModelDir, adapter);
    expect(await exportTunedModel(adapter, merged, {})).toMatchObject({ numMerged: 8 });
    const lines = (await runPython('compare', nanoModelDir, adapter, merged, question)).trim().split('\n');
    const comparison = JSON.parse(lines.at(-1) ?? '') as Comparison;
    expect(comparison.to_peft).toBeLessThan(1e-4);
    expect(comparison.to_base).toBeGreaterThan(0.1);

    const tuned = await openTunedModel(merged, { maxTokens: 12, numThreads: 1, temperature: 0 });
    const model = tuned.selectModel({ agentName: 'a' }, (found) => found);
    const { message } = await model.generate({ messages: [{ role: 'user', content: question }] });
    await tuned.close();
    expect(comparison.said).toBe(message.content);
  },
);
