import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { composeConfig } from '@agentjet/core';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { loadRunFollower, type TrackersConfig } from './load-run-follower.js';

const hasPython = spawnSync('python3', ['--version']).status === 0;

let dir = '';
let notices: string[] = [];
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'run-follower-'));
  notices = [];
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

const dirOf = (policy: string): string => path.join(dir, 'policies', policy);

type Logger = TrackersConfig['trainerCommon']['logger'];

/** Writes the files of a run with two models, as a server does. */
async function serve(logger: Logger): Promise<void> {
  const config = composeConfig({}).create({ experimentName: 'team/lake', trainerCommon: { logger } });
  const policies = ['planner', 'worker'].map((name) => ({ name, dir: dirOf(name) }));
  for (const policy of policies) mkdirSync(policy.dir, { recursive: true });
  const onNotice = (message: string): void => void notices.push(message);
  const follower = await loadRunFollower({ config, runDir: dir, policies, onNotice });
  for (const { name } of policies) {
    writeFileSync(path.join(dirOf(name), 'metrics.jsonl'), '{"step":1,"reward_mean":0.5}\n');
    follower.wake(name);
  }
  await follower.close();
}

it('writes event files for each policy if the configuration names tensorboard, and nothing by default', async () => {
  await serve('console');
  expect(readdirSync(dirOf('planner'))).toEqual(['metrics.jsonl']);
  await serve(['console', 'tensorboard']);
  for (const policy of ['planner', 'worker'])
    expect(readdirSync(path.join(dirOf(policy), 'tensorboard'))).toEqual([expect.stringContaining('tfevents')]);
  expect(notices).toEqual([]);
});

it('says once of each policy that its tracker failed', async () => {
  vi.stubEnv('AJET_TRACKER_PYTHON', path.join(dir, 'no-python'));
  await serve('wandb');
  expect(notices.toSorted()).toEqual([
    expect.stringMatching(/^planner: The tracker wandb has failed /),
    expect.stringMatching(/^worker: The tracker wandb has failed /),
  ]);
});

it.skipIf(!hasPython)('gives a tracker the name of the policy, and another id in each run', async () => {
  const options = path.join(dir, 'options');
  writeFileSync(
    path.join(dir, 'wandb.py'),
    `
import json
class Run:
    def log(self, values, step): pass
    def finish(self): pass
def init(**options):
    with open(${JSON.stringify(options)}, "a") as file: file.write(json.dumps(options) + "\\n")
    return Run()
`,
  );
  vi.stubEnv('PYTHONPATH', dir);
  vi.stubEnv('AJET_TRACKER_PYTHON', 'python3');
  await serve('wandb');
  const lines = readFileSync(options, 'utf8').trim().split('\n');
  const runs = lines.map((line) => JSON.parse(line) as Readonly<Record<string, string>>);
  const ids = Object.fromEntries(runs.map(({ name = '', id }) => [name, id]));
  expect(ids).toEqual({
    'team/lake-planner': `team-lake-planner-${path.basename(dir)}`,
    'team/lake-worker': `team-lake-worker-${path.basename(dir)}`,
  });
});
