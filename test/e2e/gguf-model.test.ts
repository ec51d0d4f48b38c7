import { cpSync, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { writeJob } from './support/job-files.js';
import { createScratchFolder } from './support/job-folder.js';
import { onlyRun } from './support/read-run.js';
import { runAjet } from './support/run-ajet.js';

const golden = path.join(import.meta.dirname, '../../packages/gguf/golden/llama.gguf');

it('trains a GGUF file, records its source in the run, and exports the result as a GGUF file that is checked and trained again', async () => {
  const folder = createScratchFolder();
  const env = { XDG_CACHE_HOME: path.join(folder, 'cache') };
  cpSync(golden, path.join(folder, 'start.gguf'));
  const changes = {
    data: { max_prompt_length: 96, max_response_length: 32 },
    rollout: { max_model_len: 128 },
    trainer_common: { save_freq: 1, total_training_steps: 1 },
  };
  writeJob(folder, 'start.gguf', {}, changes);
  const trained = await runAjet(folder, ['--conf', 'job.yaml'], { env });
  expect(trained.stderr).toBe('');
  expect(trained.code).toBe(0);
  expect(trained.stdout).toMatch(/start\.gguf, SHA-256 [0-9a-f]{64}\. They were quantized/);
  const run = onlyRun(folder);
  const { source } = JSON.parse(readFileSync(path.join(run, 'model.json'), 'utf8')) as { readonly source: unknown };
  expect(source).toMatchObject({ from: 'gguf', file: 'start.gguf', quantized: true });
  const exported = await runAjet(folder, ['export', run, 'end.gguf', '--type', 'q8_0', '--json'], { env });
  expect(exported.code).toBe(0);
  expect(JSON.parse(exported.stdout)).toMatchObject({ dir: path.join(folder, 'end.gguf'), merged_tensors: 0 });
  expect(existsSync(path.join(folder, 'end.gguf'))).toBe(true);
  const checked = await runAjet(folder, ['model', 'check', 'end.gguf', '--json'], { env });
  expect(JSON.parse(checked.stdout)).toMatchObject({ model: 'end.gguf' });
});
