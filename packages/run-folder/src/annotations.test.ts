import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readAnnotations } from './annotations.js';
import { createRunFolder, openRunFolder } from './open-run.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'annotations-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const head = { update: 0, mode: 'all', tokens: 1, kept: 1, clipped: 0, gap_mean: 0, gap_max: 0 } as const;
const tokens = { positions: [3], logprobs: [-1], ratios: [1], weights: [0.5], clipped: [0] };
const lines = [head, { update: 0, episode_id: 'e', sample: 0, ...tokens }];

const newRun = () => createRunFolder({ experimentDir: dir, experimentName: 'e', configYaml: 'ajet: {}\n' });

it('what the trainer computed is kept by step, and loses the steps that a resumed run repeats', async () => {
  const run = await newRun();
  for (const step of [1, 2, 3]) await run.recordStep({ step }, [], lines);
  expect(await readAnnotations(run.dir, 2)).toEqual(lines);
  await run.rewind({ step: 2, policyVersion: 2, groupsDrawn: 2 });
  expect(await readdir(path.join(run.dir, 'annotations'))).toEqual(['step-000001.jsonl', 'step-000002.jsonl']);
  expect(await readAnnotations(run.dir, 3)).toEqual([]);
  await run.recordStep({ step: 3 }, [], [head]);
  expect(await readAnnotations(run.dir, 3)).toEqual([head]);
});

it('what cannot be written does not end the run', async () => {
  const notices: string[] = [];
  const { dir: runDir } = await newRun();
  const run = await openRunFolder(runDir, { onNotice: (message) => notices.push(message) });
  await writeFile(path.join(runDir, 'annotations'), 'a file in its place');
  for (const step of [1, 2]) await run.recordStep({ step }, [], lines);
  expect(await run.readMetrics()).toEqual([{ step: 1 }, { step: 2 }]);
  expect(notices).toEqual([expect.stringMatching(/^annotations\/ could not be written/)]);
});
