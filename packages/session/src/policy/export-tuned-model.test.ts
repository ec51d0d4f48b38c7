import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { exportTunedModel } from './export-tuned-model.js';
import { openTunedModel } from './answering-models.js';

let root = '';
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'export-'));
});
afterEach(() => rmSync(root, { recursive: true }));

it('writes a folder that opens again', async () => {
  const target = path.join(root, 'model');
  expect(await exportTunedModel('nano', target)).toMatchObject({ dir: target, numMerged: 0 });
  expect(readdirSync(target)).toContain('tokenizer.json');
  const tuned = await openTunedModel(target, { maxTokens: 4, numThreads: 1 });
  await tuned.close();
});

it('refuses a folder that is not there', async () => {
  await expect(exportTunedModel(path.join(root, 'none'), path.join(root, 'model'))).rejects.toThrow(
    'There is no checkpoint',
  );
});

it('stops at the signal, and leaves nothing', async () => {
  const target = path.join(root, 'model');
  const stopped = exportTunedModel('nano', target, { signal: AbortSignal.abort() });
  await expect(stopped).rejects.toMatchObject({ code: 'aborted', message: expect.stringContaining(target) });
  expect(readdirSync(root)).toEqual([]);
});
