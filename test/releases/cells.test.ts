import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { cells } from './cells.js';
import { cellName, modelNameOf } from './cells/cell.js';
import { root } from './run-node.js';

it('names a cell once, and only configurations and scripts that are there', () => {
  const names = cells.map(cellName);
  expect(new Set(names).size).toBe(names.length);
  const files = cells.flatMap(({ conf, scripts = [] }) => [conf, ...scripts]);
  expect(files.filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
});

it('names the model of a result and not the folder that has it on this machine', () => {
  expect(modelNameOf({ model: '/models/coder', modelName: 'Qwen/Qwen2.5-Coder-0.5B-Instruct' })).toMatch(/^Qwen/);
  expect(modelNameOf({ model: 'nano' })).toBe('nano');
});
