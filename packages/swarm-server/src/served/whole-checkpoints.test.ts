import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRunFolder, type RunFolder } from '@agentjet/run-folder';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WholeCheckpoints } from './whole-checkpoints.js';

let dir: string;
let folder: RunFolder;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'whole-checkpoints-'));
  folder = await createRunFolder({ experimentDir: dir, experimentName: 'e', configYaml: 'ajet: {}\n' });
});
afterEach(async () => {
  await folder.close();
  await rm(dir, { recursive: true, force: true });
});

const save = (step: number) =>
  folder.save(
    { save: (to) => writeFile(path.join(to, 'config.json'), '{}') },
    { step, policyVersion: step, groupsDrawn: 0 },
    { maxCheckpoints: 0 },
  );

it('names the checkpoints that are whole, and none whose files are changed or gone since', async () => {
  const notices: string[] = [];
  const whole = new WholeCheckpoints(folder.checkpoints, (message) => void notices.push(message));
  const saved = [await save(1), await save(2), await save(3)];
  await whole.add(3);
  expect(await whole.steps()).toEqual([1, 2, 3]);

  const [first = '', second = '', third = ''] = saved.map((checkpoint) => checkpoint.dir);
  await writeFile(path.join(first, 'config.json'), '{"hidden_size": 8}');
  await rm(path.join(second, 'config.json'));
  await rm(third, { recursive: true });
  expect(await whole.steps()).toEqual([]);
  expect(await whole.steps()).toEqual([]);
  expect(notices).toHaveLength(2);

  await save(3);
  expect(await whole.steps()).toEqual([3]);
});
