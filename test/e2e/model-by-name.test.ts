import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { createRandom } from '@agentjet/core';
import { AgentJetJob } from 'agentjet';
import { readFolder, startLoopbackHub, type LoopbackHub } from '@agentjet/model-hub/testing';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';
import { onlyRun, readMetrics } from './support/read-run.js';
import { writeTinyModel } from './support/tiny-model.js';

const downloadProcess = path.join(import.meta.dirname, 'support/download-process.ts');
const pathMapping = path.resolve(import.meta.dirname, '../../tsconfig.check.json');
const model = 'acme/tiny-chat';
const home = createScratchFolder();
let hub: LoopbackHub;
beforeAll(async () => {
  hub = await startLoopbackHub({ id: model, files: await readFolder(await writeTinyModel(path.join(home, 'model'))) });
});
afterAll(() => hub.close());
afterEach(() => vi.unstubAllEnvs());

const changes = () => ({
  experiment_dir: path.join(createScratchFolder(), 'saved_experiments'),
  trainer_common: { total_training_steps: 2, val_before_train: false, save_freq: 0 },
});

it('trains a model by its name, from a hub that cuts every download, and then without the hub', async () => {
  vi.stubEnv('HF_ENDPOINT', hub.endpoint);
  vi.stubEnv('HF_HOME', path.join(home, 'hub'));
  hub.cutAfter = (_, size) => Math.ceil(size * 0.4);
  const folderChanges = changes();
  const folder = createJobFolder(model, {}, folderChanges);
  const { modelDir } = await new AgentJetJob()
    .loadJobFromYaml(path.join(folder, 'job.yaml'))
    .tune({ onEvent: () => undefined });
  expect(readMetrics(onlyRun(path.dirname(folderChanges.experiment_dir)))).toHaveLength(2);
  expect(readdirSync(modelDir ?? '')).toEqual(expect.arrayContaining(['tokenizer.json', 'tokenizer_config.json']));

  vi.stubEnv('HF_HUB_OFFLINE', '1');
  const asked = hub.requests.length;
  const againChanges = changes();
  const again = createJobFolder(model, {}, againChanges);
  await new AgentJetJob().loadJobFromYaml(path.join(again, 'job.yaml')).tune({ onEvent: () => undefined });
  const losses = (run: string): readonly unknown[] => readMetrics(run).map((row) => Reflect.get(Object(row), 'loss'));
  expect(losses(onlyRun(path.dirname(againChanges.experiment_dir)))).toEqual(
    losses(onlyRun(path.dirname(folderChanges.experiment_dir))),
  );
  expect(hub.requests).toHaveLength(asked);
});

it('leaves no run if the model cannot be had', async () => {
  vi.stubEnv('HF_ENDPOINT', hub.endpoint);
  vi.stubEnv('HF_HOME', path.join(home, 'hub'));
  const folderChanges = changes();
  const folder = createJobFolder('acme/none', {}, folderChanges);
  const job = new AgentJetJob().loadJobFromYaml(path.join(folder, 'job.yaml'));
  await expect(job.tune({ onEvent: () => undefined })).rejects.toMatchObject({ code: 'model_not_found' });
  expect(existsSync(folderChanges.experiment_dir)).toBe(false);
});

it('is one download for two processes, even if connections break', async () => {
  const random = createRandom(1);
  const weights = Uint8Array.from({ length: 300_000 }, () => random.int(256));
  const small = new TextEncoder().encode('{}');
  hub.put({ id: 'acme/two', files: { 'config.json': small, 'tokenizer.json': small, 'model.safetensors': weights } });
  hub.cutAfter = (_, size) => Math.min(size, 60_000);
  const before = hub.sentBytes();
  const cacheDir = path.join(home, 'shared');
  const env = { ...process.env, HF_ENDPOINT: hub.endpoint, HF_HUB_CACHE: cacheDir, TSX_TSCONFIG_PATH: pathMapping };
  const run = async (): Promise<string> =>
    (
      await promisify(execFile)(process.execPath, ['--import', 'tsx', downloadProcess, 'acme/two'], { env })
    ).stdout.trim();
  const [dir, other] = await Promise.all([run(), run()]);
  expect(other).toBe(dir);
  expect(readFileSync(path.join(dir, 'model.safetensors')).equals(weights)).toBe(true);
  expect(hub.sentBytes() - before).toBeLessThan(450_000); // a broken connection may lose bytes that were already sent
  expect(readdirSync(path.join(cacheDir, 'models--acme--two/blobs')).filter((blob) => blob.includes('.'))).toEqual([]);
});
