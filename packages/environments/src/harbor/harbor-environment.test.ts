import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Task } from '@agentjet/core';
import { scriptCluster } from '@agentjet/sandbox/testing';
import { afterAll, expect, it } from 'vitest';
import { absentEngine, harborSettings } from '../testing/harbor-settings.js';
import { openHarbor } from './harbor-environment.js';

const root = mkdtempSync(path.join(tmpdir(), 'harbor-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function writeTask(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(path.join(root, 'task-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

const taskOf = (folder: string): Task => ({
  taskId: 't',
  mainQuery: '',
  initMessages: [],
  metadata: { harbor: { folder } },
});

it('gives a step the time to be scored and to prepare the step that follows it', async () => {
  const toml = [
    '[environment]\nbuild_timeout_sec = 2000',
    '[[steps]]\nname = "a"\nverifier.timeout_sec = 3000',
    '[[steps]]\nname = "b"\nverifier.timeout_sec = 1',
  ];
  const folder = writeTask({
    'task.toml': toml.join('\n'),
    'environment/Dockerfile': 'FROM x',
    'tests/test.sh': 'true',
    'steps/a/instruction.md': 'First.',
    'steps/b/instruction.md': 'Second.',
    'steps/b/workdir/setup.sh': 'true',
  });
  const harbor = openHarbor({ ...harborSettings, engine: absentEngine, requireSeparateVerifier: false });
  const task = taskOf(folder);
  const { call, evaluate } = (await harbor.limits?.(task)) ?? {};
  expect(call).toBeGreaterThanOrEqual(3000 + 2000);
  expect(evaluate).toBeGreaterThanOrEqual(3000 + 2000 + 1);
});

it.skipIf(process.platform === 'win32')('refuses several machines on a cluster by name', async () => {
  const folder = writeTask({
    'task.toml': '',
    'instruction.md': 'Do it.',
    'environment/Dockerfile': 'FROM x',
    'environment/docker-compose.yaml': 'services: { web: { image: w } }',
    'tests/test.sh': 'true',
  });
  const { cluster, calls, close } = await scriptCluster(root, { image: 'registry/tasks:{digest}' });
  const harbor = openHarbor({ ...harborSettings, engine: cluster, requireSeparateVerifier: false });
  const options = { seed: 1, signal: new AbortController().signal, episodeId: 'e' };
  await expect(harbor.open(taskOf(folder), options)).rejects.toThrow(
    'has a docker-compose.yaml, which environment.harbor.engine: kubernetes cannot run',
  );
  expect(calls).toEqual([]);
  await close();
});
