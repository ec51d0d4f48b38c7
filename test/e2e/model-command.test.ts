import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startLoopbackHub, type LoopbackHub } from '@agentjet/model-hub/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { createProgram } from '@agentjet/cli';

const home = mkdtempSync(path.join(tmpdir(), 'ajet-cli-models-'));
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const config = {
  model_type: 'qwen2',
  hidden_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  intermediate_size: 128,
  vocab_size: 1000,
};
let hub: LoopbackHub;
beforeAll(async () => {
  hub = await startLoopbackHub({
    id: 'acme/tiny',
    files: {
      'config.json': bytes(JSON.stringify(config)),
      'tokenizer.json': bytes('{}'),
      'model.safetensors': bytes('weights'),
    },
  });
});
afterAll(async () => {
  await hub.close();
  rmSync(home, { recursive: true, force: true });
});
beforeEach(() => {
  vi.stubEnv('HF_ENDPOINT', hub.endpoint);
  vi.stubEnv('HF_HOME', home);
  vi.stubEnv('XDG_CACHE_HOME', path.join(home, 'cache'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** Parses what `ajet ... --json` writes to stdout, which is one line. */
async function ask(...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const written: string[] = [];
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  await createProgram(() => undefined).parseAsync([...args, '--json'], { from: 'user' });
  const text = written.join('');
  expect(text.split('\n')).toHaveLength(2);
  return JSON.parse(text) as Readonly<Record<string, unknown>>;
}

it('check downloads the small files alone, and answers for each backbone', async () => {
  const found = await ask(
    'model',
    'check',
    'acme/tiny',
    '--gpus',
    '4',
    '--gpu-memory',
    '139GiB',
    '--gpu-name',
    'H200',
    'data.train_batch_size=2',
  );
  expect(found).toMatchObject({
    model: 'acme/tiny',
    gpus: { count: 4, bytes: 139 * 2 ** 30, name: 'H200' },
    backbones: {
      onnx: { place: 'host', fits: true, problem: null, ways_out: [] },
      torch: { place: 'gpu', fits: true, step_seconds: expect.any(Number), time_unknown: null },
      verl: { place: 'gpu', fits: true, step_seconds: expect.any(Number), time_unknown: null },
      tinker: {
        place: 'none',
        fits: true,
        needed_bytes: 0,
        step_seconds: null,
        time_unknown: 'it depends on the server',
      },
    },
  });
  expect(hub.requests.some((request) => request.includes('safetensors'))).toBe(false);
  expect(await ask('model', 'list')).toMatchObject({
    models: [{ name: 'nano' }, { name: 'micro' }, { name: 'acme/tiny', has_weights: false }],
  });
});

it('get downloads the rest, and list shows it', async () => {
  const { dir, commit } = await ask('model', 'get', 'acme/tiny');
  expect(await ask('model', 'list')).toMatchObject({
    cache_dir: path.join(home, 'hub'),
    models: [
      { name: 'nano', has_weights: true },
      { name: 'micro', has_weights: true },
      { name: 'acme/tiny', dir, commit, has_weights: true },
    ],
  });
});

it.each([
  [['check', 'nano', '--gpus', 'many', '--gpu-memory', '80GiB'], /--gpus is "many", not a whole number/],
  [['check', 'nano', '--gpus', '2'], /--gpus needs --gpu-memory as well/],
  [['check', 'nano', '--gpu-name', 'H100'], /--gpu-name needs --gpu-memory as well/],
  [['check', 'nano', '--gpu-memory', '80'], /--gpu-memory is "80", not an amount such as 80GiB/],
  [['check', './none'], /There is no model folder \.\/none/],
  [['get', 'nano'], /^nano is included in agentjet/],
  [['get', 'tiny'], /"tiny" is not the name of a model on the hub/],
])('says what is wrong with %j', async (args, message) => {
  await expect(ask('model', ...args)).rejects.toThrow(message);
});
