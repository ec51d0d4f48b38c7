import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRunFolder } from '@agentjet/run-folder';
import { createConfig, testComposition as composition } from '@agentjet/inputs/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openFolderAgain } from './resume-run.js';

let experimentDir: string;
beforeEach(async () => {
  experimentDir = await mkdtemp(path.join(tmpdir(), 'resume-run-'));
});
afterEach(() => rm(experimentDir, { recursive: true, force: true }));

it.each([
  ['of all weights is continued from its checkpoint', 0, /leave out --resume and set model\.path=<run>\/checkpoints/],
  ['of an adapter, from the merged model', 8, /leave out --resume, merge its adapter with `ajet export <run>/],
])('a run %s if another configuration is refused', async (_name, rank, advice) => {
  const config = createConfig({ lora: { rank } });
  const contents = { experimentDir, experimentName: 'e', configYaml: composition.format(config) };
  const { dir } = await createRunFolder(contents);
  const other = createConfig({ lora: { rank }, rollout: { temperature: 0.5 } });
  const again = openFolderAgain(other, { dir, modelDir: undefined, onNotice: () => undefined, composition });
  await expect(again).rejects.toThrow(advice);
});
