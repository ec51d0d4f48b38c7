import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { startLoopbackHub } from '@agentjet/model-hub/testing';
import { resolveModelDir } from './model-dir.js';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'ajet-model-dir-'));
});
const find = (modelPath: string): Promise<string> => resolveModelDir(modelPath, { onNotice: () => undefined });

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

it('refuses the folder of a run, and names its last checkpoint', async () => {
  const run = path.join(dir, 'run');
  mkdirSync(path.join(run, 'checkpoints/step-000020'), { recursive: true });
  writeFileSync(path.join(run, 'checkpoints/latest'), 'step-000020\n');
  const checkpoint = path.join(run, 'checkpoints', 'step-000020');
  await expect(find(run)).rejects.toThrow(
    `is the folder of a run, not of a model. Name one of its checkpoints; the last is ${checkpoint}.`,
  );
  expect(await find(checkpoint)).toBe(checkpoint);
});

it('takes a model folder in which training continued for a model', async () => {
  const model = path.join(dir, 'model');
  mkdirSync(path.join(model, 'checkpoints'), { recursive: true });
  writeFileSync(path.join(model, 'checkpoints/latest'), 'step-000001');
  writeFileSync(path.join(model, 'config.json'), '{}');
  expect(await find(model)).toBe(model);
});

it('refuses a file, and what does not exist', async () => {
  const file = path.join(dir, 'model.safetensors');
  writeFileSync(file, '');
  await expect(find(file)).rejects.toThrow('is a file. Name the folder');
  await expect(find('./models/none')).rejects.toThrow(
    'There is no model folder ./models/none (model.path), neither next to',
  );
  await expect(find('gpt2')).rejects.toThrow('use a name of the Hugging Face hub such as Qwen/Qwen2.5-0.5B-Instruct');
});

it('opens a GGUF file, under any name, and says which weights it has', async () => {
  vi.stubEnv('XDG_CACHE_HOME', path.join(dir, 'cache'));
  const golden = path.join(import.meta.dirname, '../../../gguf/golden/llama.gguf');
  const blob = path.join(dir, 'sha256-1234');
  copyFileSync(golden, blob);
  const notices: string[] = [];
  const onNotice = (message: string): void => void notices.push(message);
  const described = await resolveModelDir(blob, { withWeights: false, onNotice });
  expect(readdirSync(described)).toContain('config.json');
  expect(notices).toEqual([]);
  const opened = await resolveModelDir(golden, { onNotice });
  expect(readdirSync(opened)).toContain('model.safetensors');
  expect(notices[0]).toMatch(
    /llama\.gguf, SHA-256 [0-9a-f]{64}\. They were quantized \(.*Q4_1.*\), so they are not the original weights$/,
  );
});

it('takes org/name for a model of the hub, unless there is such a folder', async () => {
  const text = (value: string): Uint8Array => new TextEncoder().encode(value);
  const files = { 'config.json': text('{}'), 'tokenizer.json': text('{}'), 'model.safetensors': text('weights') };
  const hub = await startLoopbackHub({ id: 'acme/tiny', files });
  try {
    vi.stubEnv('HF_ENDPOINT', hub.endpoint);
    vi.stubEnv('HF_HOME', path.join(dir, 'hub-home'));
    const found = await find('acme/tiny@main');
    expect(path.relative(path.join(dir, 'hub-home'), found)).toMatch(/^hub[/\\]models--acme--tiny[/\\]snapshots[/\\]/);
    await expect(find('acme/other')).rejects.toThrow(
      /^There is no folder acme\/other, neither next to the YAML file nor in .*\. There is no model acme\/other at http/,
    );
    const folder = path.join(dir, 'acme/other');
    mkdirSync(folder, { recursive: true });
    vi.spyOn(process, 'cwd').mockReturnValue(dir);
    expect(await find(folder)).toBe(folder);
    const stopped = AbortSignal.abort(new Error('Ctrl-C'));
    await expect(resolveModelDir('acme/third', { onNotice: () => undefined, signal: stopped })).rejects.toMatchObject({
      code: 'aborted',
      message: expect.stringContaining('the same command resumes from there'),
    });
  } finally {
    await hub.close();
  }
});
