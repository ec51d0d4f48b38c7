import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { stepMetricNames } from '@agentjet/trainer/testing';
import { beforeAll, expect, it } from 'vitest';
import { longIt } from '../long-tests.js';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';
import { listCheckpoints, onlyRun, readEpisodes, readMetrics, readRows, type Row } from './support/read-run.js';
import { runAjet, startAjet } from './support/run-ajet.js';
import { writeTinyModel } from './support/tiny-model.js';

let modelDir: string;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});

it('trains, writes a run folder that explains itself, and ends with one line of JSON', async () => {
  const folder = createJobFolder(modelDir);
  const { code, stdout, stderr } = await runAjet(folder, ['--conf', 'job.yaml', '--json']);
  expect(stderr).toMatch(/step 4\/4 {2}reward/);
  expect(code).toBe(0);
  expect(stdout.trim().split('\n')).toHaveLength(1);
  const run = onlyRun(folder);
  const result = JSON.parse(stdout) as Record<string, unknown>;
  expect(Object.keys(result)).toEqual([
    'success_before',
    'success_after',
    'success_change',
    'success_change_interval',
    'seconds',
    'seconds_sampling',
    'seconds_training',
    'policy_version',
    'run_dir',
  ]);
  expect(result).toMatchObject({ policy_version: 4, run_dir: run });
  expect(result['success_before']).toEqual(expect.any(Number));
  expect(result['success_after']).toEqual(expect.any(Number));

  const rows = readRows(path.join(run, 'metrics.jsonl'));
  expect(rows.map((row) => row['step'])).toEqual([1, 2, 3, 4]);
  for (const name of stepMetricNames) expect(rows[3]).toHaveProperty(name, expect.any(Number));
  expect(rows[3]).toMatchObject({ episodes: 8, failed_episodes: 0 });
  expect(rows.every((row) => Number(row['logprob_gap_max']) < 1e-3)).toBe(true);
  expect(readRows(path.join(run, 'evaluations.jsonl')).map((row) => row['step'])).toEqual([0, 4]);
  expect(listCheckpoints(run)).toEqual(['step-000002', 'step-000004']);
  for (const name of ['config.yaml', 'log.jsonl', 'reward.svg', 'checkpoints/step-000004/tokenizer.json'])
    expect(existsSync(path.join(run, name))).toBe(true);
  expect(readEpisodes(run)).toHaveLength(4 * 8 + 2 * 2);
  expect(readFileSync(path.join(run, 'config.yaml'), 'utf8')).toContain('num_repeat: 4');
});

longIt('the same seed gives the same metrics, another seed others', async () => {
  const [first, second, third] = [createJobFolder(modelDir), createJobFolder(modelDir), createJobFolder(modelDir)];
  const short = [
    '--conf',
    'job.yaml',
    'trainer_common.total_training_steps=2',
    'trainer_common.val_before_train=false',
  ];
  await Promise.all([
    runAjet(first, short),
    runAjet(second, [...short, 'rollout.max_env_worker=3']),
    runAjet(third, [...short, 'trainer_common.seed=7']),
  ]);
  expect(readMetrics(onlyRun(first))).toHaveLength(2);
  expect(readMetrics(onlyRun(second))).toEqual(readMetrics(onlyRun(first)));
  expect(readMetrics(onlyRun(third))).not.toEqual(readMetrics(onlyRun(first)));
});

longIt('evaluates a checkpoint, and shows a run and an episode', async () => {
  const folder = createJobFolder(modelDir);
  await runAjet(folder, ['--conf', 'job.yaml', 'trainer_common.total_training_steps=1']);
  const run = onlyRun(folder);
  const evaluated = await runAjet(folder, ['eval', '--conf', 'job.yaml', '--checkpoint', run, '--json']);
  expect(evaluated.code).toBe(0);
  const after = readRows(path.join(run, 'evaluations.jsonl')).at(-1);
  expect(JSON.parse(evaluated.stdout)).toMatchObject({
    success: after?.['success_rate'],
    reward: after?.['reward_mean'],
    episodes: 2,
    failed_episodes: 0,
    tasks: [{ trials: 1 }, { trials: 1 }],
  });

  const list = await runAjet(folder, ['inspect', run]);
  expect(list.stdout).toMatch(/e1-train\d-r0/);
  const episode = readEpisodes(run).at(-1)?.['episode_id'];
  const shown = await runAjet(folder, ['inspect', run, String(episode)]);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain('8 generated in an evaluation, which trains nothing');
  expect(shown.stdout).toMatch(/\d {2}user +Say/);
  expect(shown.stdout).toMatch(/#0 \w+ +⟦.*⟧ logprob -\d/);
  const page = await runAjet(folder, ['inspect', run, String(episode), '--html', 'page.html']);
  expect(page.stdout.trim()).toBe(path.join(folder, 'page.html'));
  expect(readFileSync(path.join(folder, 'page.html'), 'utf8')).toMatch(
    new RegExp(`id="run-data" data-start="[^"]*%2Fepisode%2F${String(episode)}"`),
  );
  const before = await runAjet(folder, ['inspect', '--html', run, String(episode)]);
  expect(before.stdout.trim()).toBe(path.join(folder, `${String(episode)}.html`));
  const nowhere = await runAjet(folder, ['inspect', run, String(episode), '--html', 'no/page.html']);
  expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringMatching(/Cannot write the page.*--html <file>/)]);
  const whole = await runAjet(folder, ['inspect', run, '--html']);
  expect([whole.code, whole.stderr]).toEqual([1, expect.stringMatching(/page of one episode.*ajet studio export/)]);
  const asked = await runAjet(folder, ['inspect', run, '--step', '1', '--sort', 'tokens', '--json']);
  const { episodes, of } = JSON.parse(asked.stdout) as { readonly episodes: readonly Row[]; readonly of: number };
  expect([episodes.length, of]).toEqual([8 + 2, 8 + 2]);
  for (const { question, answered, began_at: began } of episodes) {
    expect(question).toMatch(/^Say \d+$/);
    expect([typeof answered, typeof began]).toEqual(['string', 'string']);
  }
  const { question: words = '' } = episodes[0] ?? {};
  const found = await runAjet(folder, ['inspect', run, '--step', '1', '--find', String(words).toUpperCase(), '--json']);
  const told = JSON.parse(found.stdout) as { readonly episodes: readonly Row[] };
  expect(told.episodes).toContainEqual(episodes[0]);
  expect(told.episodes.every(({ question }) => String(question).includes(String(words)))).toBe(true);
  const one = await runAjet(folder, ['inspect', run, String(episode), '--json']);
  expect(JSON.parse(one.stdout)).toMatchObject({ episode_id: episode, question: expect.stringMatching(/^Say \d+$/) });
  const both = await runAjet(folder, ['inspect', run, String(episode), '--failed']);
  expect([both.code, both.stderr]).toEqual([1, expect.stringMatching(/--failed selects episodes, but .* is named/)]);
  const compared = await runAjet(folder, ['inspect', run, '--before-after']);
  expect(compared.stdout).toMatch(/^step 0: success .*\nstep 1: success .*\nchange: .*, on 2 tasks: /);
  const misspelt = await runAjet(folder, ['inspect', run, '--task', 'nobody']);
  expect([misspelt.code, misspelt.stderr]).toEqual([1, expect.stringMatching(/has no task "nobody"\. It has 4 tasks/)]);
  const unknown = await runAjet(folder, ['inspect', run, 'nobody']);
  expect(unknown.code).toBe(1);
  expect(unknown.stderr).toMatch(/has no episode "nobody"/);
});

longIt('continues when nobody reads its output any more', async () => {
  const folder = createJobFolder(modelDir);
  const running = startAjet(folder, ['--conf', 'job.yaml', 'trainer_common.total_training_steps=2']);
  await running.waitFor(/^run /m);
  running.child.stdout?.destroy();
  expect((await running.finished).code).toBe(0);
  expect(readMetrics(onlyRun(folder))).toHaveLength(2);
});
