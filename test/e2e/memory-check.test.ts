import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isBundledModel } from '@agentjet/core';
import { checkModel } from '@agentjet/models';
import { nanoModelDir } from '@agentjet/nano';
import { AgentJetJob, configuration, type JobEvent } from 'agentjet';
import { beforeAll, expect, it } from 'vitest';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';

/** The config.json of a model with 70 billion parameters, without weights. No developer's machine has room for it. */
const large = path.join(createScratchFolder(), 'large');
beforeAll(() => {
  mkdirSync(large);
  const nano: unknown = JSON.parse(readFileSync(path.join(nanoModelDir, 'config.json'), 'utf8'));
  const sizes = {
    hidden_size: 8192,
    num_hidden_layers: 80,
    num_attention_heads: 64,
    num_key_value_heads: 8,
    intermediate_size: 28_672,
  };
  writeFileSync(path.join(large, 'config.json'), JSON.stringify({ ...Object(nano), ...sizes, vocab_size: 128_256 }));
  for (const file of ['tokenizer.json', 'tokenizer_config.json'])
    copyFileSync(path.join(nanoModelDir, file), path.join(large, file));
});

it('refuses a model that cannot fit before the run begins, with figures and ways out', async () => {
  const experimentDir = path.join(createScratchFolder(), 'saved_experiments');
  const folder = createJobFolder(large, {}, { experiment_dir: experimentDir });
  const job = new AgentJetJob().loadJobFromYaml(path.join(folder, 'job.yaml'));
  const failure = await job.tune({ onEvent: () => undefined }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'not_enough_memory' });
  const { message } = failure as Error;
  expect(message).toMatch(
    /^To train .*large \([67]\d\.\dB parameters\) takes about \d\.\d TiB of memory \(\d{13} bytes\), and .* \(\d+ bytes\) are available/,
  );
  expect(message).toMatch(/Ways out:\n {2}- choose a model of at most about [\d.]+[MB] parameters/);
  expect(message).toContain('model.memory_check=warn');
  expect(existsSync(experimentDir)).toBe(false);
  await expect(job.evaluate({ onEvent: () => undefined })).rejects.toMatchObject({
    code: 'not_enough_memory',
    message: expect.stringMatching(/^To open /),
  });
});

it('only warns if the configuration asks for that', async () => {
  const folder = createJobFolder(large, {}, { experiment_dir: path.join(createScratchFolder(), 'runs') });
  const job = new AgentJetJob().loadJobFromYaml(path.join(folder, 'job.yaml'), ['model.memory_check=warn']);
  const events: JobEvent[] = [];
  await expect(job.tune({ onEvent: (event) => events.push(event) })).rejects.toThrow('model.safetensors');
  expect(events).toContainEqual({ type: 'notice', message: expect.stringContaining('takes about ') });
});

it('answers for each backbone, also for GPUs that this machine lacks', async () => {
  const check = await checkModel(large, {
    config: configuration.create(),
    gpus: { count: 8, bytes: 139 * 2 ** 30, name: null },
    onNotice: () => undefined,
  });
  const [onnx, torch, tinker] = check.backbones;
  expect([onnx?.training?.fits, tinker?.training?.fits]).toEqual([false, true]);
  expect(torch?.training).toMatchObject({ need: { place: 'gpu' }, available: { bytes: 139 * 2 ** 30 } });
  expect(onnx?.waysOut.length).toBeGreaterThan(1);
});

it('lets the quick start into a container of 1 GiB', async () => {
  const yaml = path.resolve(import.meta.dirname, '../../tutorial/frozen-lake/frozen_lake.yaml');
  const { config } = new AgentJetJob().loadJobFromYaml(yaml);
  const check = await checkModel(nanoModelDir, { config, onNotice: () => undefined });
  const training = check.backbones.find(({ name }) => name === 'onnx')?.training;
  // Compares with 746 MiB, the peak that we measured in such a container after three steps.
  expect(training?.neededBytes).toBeGreaterThan(746 * 2 ** 20);
  expect(training?.neededBytes).toBeLessThan(1.2 * 746 * 2 ** 20);
  expect(training?.need.fullPackBytes).toBeLessThan(2 ** 30);
});

const tutorials = path.resolve(import.meta.dirname, '../../tutorial');
const tutorialFiles = readdirSync(tutorials, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.yaml') && !file.includes('node_modules'),
);

it.each(tutorialFiles)('lets %s into 2 GiB, unless its model is a large one', async (file) => {
  const { config } = new AgentJetJob().loadJobFromYaml(path.join(tutorials, file));
  if (!isBundledModel(config.model.path)) return;
  const memory = { bytes: 2 ** 31, limitedBy: 'machine' as const };
  const check = await checkModel(config.model.path, { config, memory, onNotice: () => undefined });
  expect(check.backbones.find(({ name }) => name === 'onnx')?.training?.fits).toBe(true);
});
