import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { seesWrites } from './sees-writes.js';

const folders = async () => (await readdir(tmpdir())).filter((name) => name.startsWith('ajet-mapped-'));

it.runIf(process.platform === 'linux')('a session sees what is written into a file that it has mapped', async () => {
  const before = await folders();
  expect(await seesWrites()).toBe(true);
  expect(await folders()).toEqual(before);
});
