import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { describeSelf } from '@agentjet/core/processes';
import { createScratchFolder } from './create-scratch-folder.js';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), 'scratch-')));
  for (const name of ['TMPDIR', 'TEMP']) vi.stubEnv(name, root);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true });
});

const folders = () => readdirSync(root).toSorted();

function leave(name: string, owner?: object): void {
  mkdirSync(path.join(root, name));
  writeFileSync(path.join(root, name, 'weights'), '12345678');
  if (owner !== undefined) writeFileSync(path.join(root, name, '.owner.json'), JSON.stringify(owner));
}

test('a folder that a killed process left is removed, and that of a living one is kept', async () => {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)']);
  await once(child, 'spawn');
  leave('toy-1', { ...describeSelf(), pid: child.pid, started: undefined });
  const own = path.basename(await createScratchFolder('toy-'));
  expect(folders()).toEqual(['toy-1', own].toSorted());
  child.kill('SIGKILL');
  await once(child, 'exit');
  const other = path.basename(await createScratchFolder('toy-'));
  expect(folders()).toEqual([own, other].toSorted());
});

test('a folder of an earlier process with the same id is removed', async () => {
  leave('toy-1', { ...describeSelf(), started: 'an earlier time' });
  const own = path.basename(await createScratchFolder('toy-'));
  expect(folders()).toEqual([own]);
});

test('folders of other machines, of other containers, of other programs and of other names are kept', async () => {
  const gone = { ...describeSelf(), started: 'an earlier time' };
  leave('toy-1', { ...gone, host: 'elsewhere' });
  leave('toy-2', { ...gone, space: 'another container' });
  leave('toy-3');
  leave('toy-4', { pid: 'text' });
  leave('other-1', gone);
  const own = path.basename(await createScratchFolder('toy-'));
  expect(folders()).toEqual(['other-1', 'toy-1', 'toy-2', 'toy-3', 'toy-4', own].toSorted());
});
