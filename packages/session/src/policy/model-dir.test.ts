import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findModelDir } from './model-dir.js';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'ajet-model-dir-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

it('refuses the folder of a run, and names its last checkpoint', () => {
  const run = path.join(dir, 'run');
  mkdirSync(path.join(run, 'checkpoints/step-000020'), { recursive: true });
  writeFileSync(path.join(run, 'checkpoints/latest'), 'step-000020\n');
  const checkpoint = path.join(run, 'checkpoints', 'step-000020');
  expect(() => findModelDir(run)).toThrow(
    `is the folder of a run, not of a model. Name one of its checkpoints; the last is ${checkpoint}.`,
  );
  expect(findModelDir(checkpoint)).toBe(checkpoint);
});

it('takes a model folder that training went on in for a model', () => {
  const model = path.join(dir, 'model');
  mkdirSync(path.join(model, 'checkpoints'), { recursive: true });
  writeFileSync(path.join(model, 'checkpoints/latest'), 'step-000001');
  writeFileSync(path.join(model, 'config.json'), '{}');
  expect(findModelDir(model)).toBe(model);
});

it('refuses a file, and what does not exist', () => {
  const file = path.join(dir, 'model.safetensors');
  writeFileSync(file, '');
  expect(() => findModelDir(file)).toThrow('is a file. Name the folder');
  expect(() => findModelDir('Qwen/Qwen2.5-0.5B-Instruct')).toThrow('Nothing is downloaded: get it first');
});
