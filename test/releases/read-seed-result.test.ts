import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { newlyFailed } from './gate-cell.js';
import { readSeedResult } from './read-seed-result.js';

const toLines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/** Makes two steps between two evaluations of two tasks. The second task is solved in only one of its two attempts. */
function createRunDir(secondsSampling: number): string {
  const runDir = mkdtempSync(path.join(tmpdir(), 'seed-result-'));
  mkdirSync(path.join(runDir, 'episodes'), { recursive: true });
  const step = (at: number, success: number): object => ({
    step: at,
    success_rate: success,
    generated_tokens: 10,
    seconds_sampling: secondsSampling,
    seconds_training: 1,
  });
  writeFileSync(path.join(runDir, 'metrics.jsonl'), toLines([step(1, 0.25), step(2, 0.75)]));
  const evaluation = (at: number, success: number): object => ({
    step: at,
    success_rate: success,
    'success/sums': success / 2,
    seconds: 3,
  });
  writeFileSync(path.join(runDir, 'evaluations.jsonl'), toLines([evaluation(0, 0), evaluation(2, 0.5)]));
  const episode = (task: string, isSuccess: boolean): object => ({
    episode_id: task,
    phase: 'evaluation',
    group_id: `eval-2-${task}`,
    task_id: task,
    is_success: isSuccess,
    reward: isSuccess ? 1 : 0,
    metadata: { end: isSuccess ? 'goal' : 'hole' },
    seconds_judging: 0.5,
  });
  const served = { ...episode('b', false), episode_id: 'e0f1' };
  const trained = { ...episode('c', false), phase: 'train', seconds_judging: 0 };
  const episodes = [episode('a', true), episode('a', true), episode('b', true), served, trained];
  writeFileSync(path.join(runDir, 'episodes', 'step-000002.jsonl'), toLines(episodes));
  return runDir;
}

const read = (secondsSampling: number) =>
  readSeedResult(createRunDir(secondsSampling), {
    seed: 1,
    speed: 0.5,
    seconds: 20,
    peakBytes: 3 * 2 ** 29,
    load: [1, 2],
    stages: [],
  });

it('reads success, outcomes and where the time went from a run folder', async () => {
  expect(await read(4)).toMatchObject({
    success_before: 0,
    success_after: 0.5,
    kinds_before: { sums: 0 },
    kinds_after: { sums: 0.25 },
    success_at: { '5': null, end: 0.75 },
    area_under_curve: 0.5,
    generated_tokens: 20,
    peak_gib: 1.5,
    load: [1, 2],
    seconds: { sampling: 8, training: 2, evaluation: 6, rest: 4, total: 20, judge: 2 },
    endings: { a: '{"reward":1,"metadata":{"end":"goal"}}', b: '{"reward":0,"metadata":{"end":"hole"}}' },
    outcomes: { a: true, b: false },
  });
});

it('keeps how a model that judged agrees with labelled answers', async () => {
  const judge = { examples: 200, failed: 1, agreement: 0.9, rank_correlation: null };
  const given = { seed: 1, speed: 0.5, seconds: 20, peakBytes: 3 * 2 ** 29, load: [1, 2], stages: [] };
  expect(await readSeedResult(createRunDir(4), { ...given, judge })).toMatchObject({ judge });
  expect(await readSeedResult(createRunDir(4), given)).not.toHaveProperty('judge');
});

it('keeps the origin of the weights of a model', async () => {
  const runDir = createRunDir(4);
  const given = { seed: 1, speed: 0.5, seconds: 20, peakBytes: 3 * 2 ** 29, load: [1, 2], stages: [] };
  const source = { from: 'gguf', file: 'tiny.gguf', sha256: 'ab'.repeat(32), quantized: true };
  writeFileSync(
    path.join(runDir, 'model.json'),
    `${JSON.stringify({ 'config.json': { bytes: 1, sha256: '' }, source })}\n`,
  );
  expect(await readSeedResult(runDir, given)).toMatchObject({ model_source: source });
  expect(await readSeedResult(createRunDir(4), given)).not.toHaveProperty('model_source');
});

it('takes runs that differ in their seconds alone for equal', async () => {
  const [first, second] = await Promise.all([read(4), read(5)]);
  expect(second.metrics_sha256).toBe(first.metrics_sha256);
});

it('lists the held-out tasks that now fail with every seed, with an episode before and now', async () => {
  const now = await read(4);
  const before = { ...now, seed: 7, outcomes: { a: true, b: true }, endings: { a: 'won', b: 'reached the goal' } };
  expect(newlyFailed({ seeds: [before, before] }, [now])).toEqual([
    'b\n    before: reached the goal (seed 7)\n    now:    {"reward":0,"metadata":{"end":"hole"}} (seed 1)',
  ]);
  const { endings: _old, ...older } = before;
  expect(newlyFailed({ seeds: [older] }, [now])[0]).toContain(
    'b\n    before: solved, but the result is of an older format, without episodes\n    now:    {"reward":0',
  );
  expect(newlyFailed({ seeds: [before] }, [now, before])).toEqual([]);
});
