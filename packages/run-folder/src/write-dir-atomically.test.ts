import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { restoreReplacedDir, writeDirAtomically } from './write-dir-atomically.js';

let root: string;
let dir: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'atomic-'));
  dir = path.join(root, 'checkpoint');
});
afterEach(() => rm(root, { recursive: true, force: true }));

const writing = (text: string) => async (temporaryDir: string) => {
  await mkdir(path.join(temporaryDir, 'inner'));
  await writeFile(path.join(temporaryDir, 'inner', 'file'), text);
};
const content = () => readFile(path.join(dir, 'inner', 'file'), 'utf8');

test('a folder appears whole, with its parents, and is replaced whole', async () => {
  dir = path.join(root, 'a', 'b');
  await writeDirAtomically(dir, writing('one'));
  expect(await content()).toBe('one');
  await writeDirAtomically(dir, writing('two'));
  expect(await content()).toBe('two');
  expect(await readdir(path.dirname(dir))).toEqual(['b']);
});

test('nothing is visible while it is written, and a failure leaves no files', async () => {
  const failing = writeDirAtomically(dir, async (temporaryDir) => {
    await writing('one')(temporaryDir);
    expect(existsSync(dir)).toBe(false);
    throw new Error('the writer failed');
  });
  await expect(failing).rejects.toThrow('the writer failed');
  expect(await readdir(root)).toEqual([]);
});

test('what a killed process left is removed by the next write, and what a living one writes is kept', async () => {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)']);
  await once(child, 'spawn');
  const ofChild = path.join(root, `.checkpoint.writing-${child.pid}`);
  await mkdir(ofChild);
  await writeDirAtomically(dir, writing('one'));
  expect(existsSync(ofChild)).toBe(true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await writeDirAtomically(dir, writing('two'));
  expect(await readdir(root)).toEqual(['checkpoint']);
});

test('a folder that a killed replacement had moved aside comes back', async () => {
  await writeDirAtomically(dir, writing('one'));
  await rename(dir, path.join(root, '.checkpoint.replaced'));
  await restoreReplacedDir(dir);
  expect(await content()).toBe('one');
});
