import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createConfig } from '@agentjet/inputs/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { noticeAdapterBase } from './adapter-base.js';

const dir = mkdtempSync(path.join(tmpdir(), 'ajet-adapter-base-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function writeModel(name: string, weights: string): string {
  const folder = path.join(dir, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'model.safetensors'), weights);
  return folder;
}

function noticesFor(base: string | null, { name, modelDir }: { readonly name: string; readonly modelDir: string }) {
  const adapter = path.join(dir, 'adapter');
  mkdirSync(adapter, { recursive: true });
  writeFileSync(path.join(adapter, 'adapter_config.json'), JSON.stringify({ base_model_name_or_path: base }));
  return noticeAdapterBase(createConfig({ model: { path: name }, lora: { rank: 2, adapter } }), modelDir);
}

describe('an adapter of another model', () => {
  const own = writeModel('own', 'weights');
  const copy = writeModel('copy', 'weights');
  const tuned = writeModel('tuned', 'changed');

  it.each([
    ['a folder with other weights', tuned, own],
    ['another name of the hub', 'org/base', 'org/instruct'],
  ])('is reported: %s', (_, base, name) => {
    expect(noticesFor(base, { name, modelDir: own })).toEqual([
      expect.stringContaining(`was made for the model ${base}, and training begins with it on ${name}`),
    ]);
  });

  it.each([
    ['the same folder', own, own],
    ['a folder with the same weights', copy, own],
    ['the same name of the hub', 'org/base', 'org/base'],
    ['another revision of the same name', 'org/base', 'org/base@main'],
    ['a folder that is gone', '/gone/model', own],
    ['a name of the hub, for a folder', 'org/base', own],
    ['no name', null, own],
  ])('is not reported for %s', (_, base, name) => {
    expect(noticesFor(base, { name, modelDir: own })).toEqual([]);
  });

  it('needs no notice without one', () => {
    expect(noticeAdapterBase(createConfig(), own)).toEqual([]);
  });
});
