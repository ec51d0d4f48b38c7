import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { microModelDir } from '@agentjet/micro';
import { nanoModelDir } from '@agentjet/nano';
import { composeConfig } from '@agentjet/core';
import type { JobListener } from '@agentjet/records';
import { backbones } from '@agentjet/trainer/registrations';
import { writeRandomAdapter } from '@agentjet/trainer/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { exportTunedModel } from './export-tuned-model.js';
import { openFrozenModel } from './answering-models.js';
import { serveTunedModel } from './serve-tuned-model.js';
import { openTunedModel } from './answering-models.js';
import { openUntrainedPolicy } from './open-policy.js';

const [embedded] = backbones;

let root = '';
let adapter = '';
/** The folder in which temporary folders are made. */
let scratch = '';
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'whole-model-'));
  adapter = path.join(root, 'adapter');
  scratch = path.join(root, 'tmp');
  mkdirSync(scratch);
  for (const name of ['TMPDIR', 'TEMP', 'TMP']) vi.stubEnv(name, scratch);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true });
});

const writeAdapter = (baseModel: string): Promise<void> =>
  writeRandomAdapter(adapter, { baseDir: nanoModelDir, baseModel, modules: ['q_proj', 'down_proj'] });

/** Returns only the folders that the test made, because native libraries leave other files there. */
const copies = (): readonly string[] => readdirSync(scratch).filter((name) => name.startsWith('ajet-'));

async function askGreedily(dir: string): Promise<unknown> {
  const tuned = await openTunedModel(dir, { maxTokens: 12, numThreads: 1, temperature: 0 });
  const model = tuned.selectModel({ agentName: 'a' }, (found) => found);
  const { message } = await model.generate({ messages: [{ role: 'user', content: 'Ann has 12 nuts and loses 7.' }] });
  await tuned.close();
  return message.content;
}

it('opens an adapter merged into its model, as an export does, and leaves no copy', async () => {
  await writeAdapter(nanoModelDir);
  const { dir } = await exportTunedModel(adapter, path.join(root, 'merged'));
  const said = await askGreedily(adapter);
  expect(said).toBe(await askGreedily(dir));
  expect(said).not.toBe(await askGreedily('nano'));
  expect(copies()).toEqual([]);
});

it('does not merge an adapter into int8', async () => {
  await writeAdapter('nano');
  const notices: string[] = [];
  const options = { port: 0, maxTokens: 4, onNotice: (line: string) => notices.push(line) };
  await expect(serveTunedModel(adapter, { ...options, frozenWeights: 'int8' })).rejects.toThrow(
    `${adapter} is an adapter (LoRA) of nano. It would be merged into its model, and the changes that it makes are smaller than the rounding to int8. Use float16, or leave out frozenWeights (--frozen-weights).`,
  );
  const served = await serveTunedModel('nano', { ...options, frozenWeights: 'int8' });
  await served.close();
  const config = composeConfig({ backbones: [embedded] }).create({
    model: { path: adapter },
    onnx: { frozenWeights: 'int8' },
  });
  const emit: JobListener = (event) => event.type === 'notice' && notices.push(event.message);
  await (await openUntrainedPolicy(config, { backbone: embedded, templateFamily: undefined }, { emit })).close();
  expect(notices).toEqual([
    'The weights are in int8 (onnx.frozen_weights), so results do not repeat to the last digit.',
    `Merging the adapter ${adapter} into its model, nano.`,
    'The merged model is opened in float32 instead of int8, whose rounding is larger than the changes of an adapter.',
  ]);
});

it('serves an adapter, and plays a partner with it', async () => {
  await writeAdapter('nano');
  const notices: string[] = [];
  const served = await serveTunedModel(adapter, { port: 0, maxTokens: 4, onNotice: (line) => notices.push(line) });
  expect(served.model).toBe('adapter');
  expect(notices).toEqual([`Merging the adapter ${adapter} into its model, nano.`]);
  await served.close();
  await (await openFrozenModel(adapter, { numThreads: 1 })).close();
});

it('says what to do if its model is elsewhere, or another one', async () => {
  const repair = `If its model is elsewhere, merge them with \`ajet export ${adapter} <new folder> --base <model>\`, and open the new folder.`;
  for (const [base, problem] of [
    [path.join(root, 'gone'), `There is no model folder ${path.join(root, 'gone')}`],
    [microModelDir, 'it changes "model.layers.0.'],
  ] as const) {
    await writeAdapter(base);
    await expect(openTunedModel(adapter)).rejects.toMatchObject({
      code: 'bad_model_files',
      message: expect.stringMatching(new RegExp(`^${adapter} is an adapter \\(LoRA\\) of ${base}\\. .*`)),
    });
    await expect(openTunedModel(adapter)).rejects.toThrow(problem);
    await expect(openTunedModel(adapter)).rejects.toThrow(repair);
  }
  expect(copies()).toEqual([]);
});

it('says what to do if the embedded engine does not run its model, before it merges', async () => {
  const base = path.join(root, 'mamba');
  mkdirSync(base);
  const config = JSON.parse(readFileSync(path.join(nanoModelDir, 'config.json'), 'utf8')) as object;
  writeFileSync(path.join(base, 'config.json'), JSON.stringify({ ...config, model_type: 'mamba' }));
  await writeAdapter(base);
  const notices: string[] = [];
  await expect(openTunedModel(adapter, { onNotice: (line) => notices.push(line) })).rejects.toMatchObject({
    code: 'unsupported_model',
    message: expect.stringMatching(
      /^.* is an adapter \(LoRA\) of .*\. This model cannot run in the onnx backbone: "model_type" of config\.json is "mamba"\. .*\. `ajet serve .* --engine vllm` serves the two merged, and `ajet export .* <new folder>` merges them for other programs\.$/,
    ),
  });
  expect(notices).toEqual([]);
});

it('stops at the signal', async () => {
  await writeAdapter(nanoModelDir);
  await expect(openTunedModel(adapter, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' });
  expect(copies()).toEqual([]);
});
