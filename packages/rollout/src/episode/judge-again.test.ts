import { JudgeError, Outage, type Verdict } from '@agentjet/core';
import { expect, it } from 'vitest';
import { judgeAgain } from './judge-again.js';

const away = (): JudgeError => new JudgeError('judge_failed', 'x', { cause: new Outage('no quota') });
const verdict: Verdict = { reward: 1, isSuccess: true };

function ask(answers: readonly (Error | Verdict)[], patienceMs: number | null = null) {
  const gaps: number[] = [];
  const notices: string[] = [];
  let next = 0;
  const answer = judgeAgain(
    async () => {
      const given = answers[next++];
      if (given === undefined || given instanceof Error) throw given ?? away();
      return given;
    },
    away(),
    {
      patienceMs,
      signal: new AbortController().signal,
      onAway: (message) => notices.push(message),
      sleep: (ms) => Promise.resolve(void gaps.push(ms)),
    },
  );
  return { answer, gaps, notices };
}

it('waits longer each time, and takes the verdict when it comes', async () => {
  const { answer, gaps, notices } = ask([away(), away(), away(), away(), away(), away(), verdict]);
  expect(await answer).toEqual(verdict);
  expect(gaps).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000]);
  expect(notices).toHaveLength(7);
});

it('gives up after its patience, with what the judge said last', async () => {
  const { answer, gaps } = ask([], 10_000);
  await expect(answer).rejects.toBeInstanceOf(JudgeError);
  expect(gaps).toEqual([1000, 2000, 4000]);
});

it('gives up at once if the judge is there and broken', async () => {
  const { answer, gaps } = ask([new JudgeError('bad_verdict', 'it returned undefined')]);
  await expect(answer).rejects.toThrow('it returned undefined');
  expect(gaps).toEqual([1000]);
});
