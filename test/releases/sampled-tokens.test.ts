import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { compareTokens, readCurve } from './sampled-tokens.js';

const toLines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

it('reads the tokens that were sampled before each evaluation', async () => {
  const runDir = mkdtempSync(path.join(tmpdir(), 'curve-'));
  writeFileSync(
    path.join(runDir, 'metrics.jsonl'),
    toLines([1, 2, 3].map((step) => ({ step, generated_tokens: 10 * step }))),
  );
  writeFileSync(
    path.join(runDir, 'evaluations.jsonl'),
    toLines([0, 2, 3].map((step) => ({ step, success_rate: step / 4 }))),
  );
  expect(await readCurve(runDir)).toEqual([
    { tokens: 0, success: 0 },
    { tokens: 30, success: 0.5 },
    { tokens: 60, success: 0.75 },
  ]);
});

const curve = (...success: readonly number[]) => success.map((value, at) => ({ tokens: 100 * at, success: value }));

it('compares the tokens until nine tenths of the gain of the teacher', () => {
  const rewarded = { fromRewards: curve(0.5, 0.6, 0.94, 0.96, 1), teacher: 1 };
  expect(compareTokens({ fromTeacher: curve(0.5, 0.95), ...rewarded })).toEqual({
    target: 0.95,
    from_teacher: 100,
    from_rewards: 300,
  });
  expect(compareTokens({ fromTeacher: curve(0.5, 0.9), ...rewarded })?.from_teacher).toBeNull();
});

it('counts all tokens of rewards that never bring the student near the teacher', () => {
  const rewarded = { fromRewards: curve(0.5, 0.94, 0.2, 0.9), teacher: 1 };
  expect(compareTokens({ fromTeacher: curve(0.5, 0.97), ...rewarded })).toMatchObject({
    from_teacher: 100,
    from_rewards: 300,
  });
});
