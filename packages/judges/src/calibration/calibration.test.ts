import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Outage } from '@agentjet/core';
import type { Judge } from '@agentjet/rollout';
import { afterAll, expect, it } from 'vitest';
import { calibrateJudge } from './calibrate-judge.js';
import { readLabelledExamples } from './labelled-examples.js';
import { rankCorrelation } from './rank-correlation.js';

const folder = mkdtempSync(path.join(tmpdir(), 'calibration-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const { signal } = new AbortController();

function write(...lines: readonly unknown[]): string {
  const file = path.join(folder, 'labelled.jsonl');
  writeFileSync(file, lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));
  return file;
}

const row = (answer: string, label: object) => ({ main_query: 'q', answer, ...label });

it('correlates ranks, and shares those of equal values', () => {
  expect(rankCorrelation([1, 2, 3, 4], [10, 20, 30, 400])).toBeCloseTo(1);
  expect(rankCorrelation([1, 2, 3], [3, 2, 1])).toBeCloseTo(-1);
  expect(rankCorrelation([1, 2, 2, 4], [1, 3, 2, 4])).toBeCloseTo(0.9487, 4);
  expect(rankCorrelation([1, 1], [1, 2])).toBeNull();
});

it('reads scores, labels and successes', () => {
  const file = write(row('a', { score: 3 }), '', row('b', { label: true }), row('c', { is_success: false, score: 2 }));
  expect(readLabelledExamples(file).map(({ answer, score, isSuccess }) => [answer, score, isSuccess])).toEqual([
    ['a', 3, undefined],
    ['b', 1, true],
    ['c', 2, false],
  ]);
});

it.each([
  [['no json'], /labelled\.jsonl:1: the line is "no json"/],
  [[row('a', { score: 1 }), row('b', {})], /labelled\.jsonl:2: "score" is missing/],
  [[{ answer: 'a', score: 1 }], /"main_query" is missing/],
  [[{ main_query: 'q', score: 1 }], /"answer" is missing/],
  [[{ main_query: 'q', ranked: ['a'] }], /"ranked" is not a list of two/],
  [[''], /holds no examples/],
])('says what is wrong with %j', (lines, message) => {
  expect(() => readLabelledExamples(write(...lines))).toThrow(message);
});

it('counts agreement, and leaves out what has no verdict', async () => {
  const judge: Judge = {
    judge: (_task, { metadata }) => {
      const answer = Number(metadata?.['answer']);
      if (answer === 4) throw new Outage('away');
      return { reward: answer, isSuccess: answer >= 2 };
    },
  };
  const examples = readLabelledExamples(
    write(...[0, 1, 2, 3, 4].map((at) => row(`${at}`, { score: at === 1 ? 3 : at }))),
  );
  const report = await calibrateJudge(judge, examples, { successFrom: null, parallel: 2, signal });
  expect(report).toMatchObject({
    examples: 5,
    failed: 1,
    firstFailure: 'outage: away',
    agreement: 0.75,
    voteSpread: null,
  });
  expect(report.rankCorrelation).toBeCloseTo(0.6325, 4);
});
