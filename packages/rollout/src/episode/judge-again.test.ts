import { JudgeError, Outage, type Verdict } from '@agentjet/core';
import { expect, it } from 'vitest';
import { judgeAgain } from './judge-again.js';

const away = (): JudgeError => new JudgeError('judge_failed', 'x', { cause: new Outage('no quota') });
const verdict: Verdict = { reward: 1, isSuccess: true };

/** Asks the judge again. `isBack` says whether the judge answers another episode during each gap. */
function ask(
  answers: readonly (Error | Verdict)[],
  patienceMs: number | null = null,
  isBack: (gap: number) => boolean = () => false,
) {
  const gaps: number[] = [];
  const woken: boolean[] = [];
  const listeners = new Set<() => void>();
  const notices: string[] = [];
  const waited: object[] = [];
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
      onWaited: (outage) => waited.push(outage),
      onBack: (wake) => {
        listeners.add(wake);
        return () => void listeners.delete(wake);
      },
      sleep: async (ms, signal) => {
        if (isBack(gaps.length)) for (const wake of listeners) wake();
        gaps.push(ms);
        woken.push(signal.aborted);
        signal.throwIfAborted();
      },
    },
  );
  return { answer, gaps, notices, waited, woken, listeners };
}

it('waits longer each time, and takes the verdict when it comes', async () => {
  const { answer, gaps, notices, waited } = ask([away(), away(), away(), away(), away(), away(), verdict]);
  expect(await answer).toEqual(verdict);
  expect(gaps).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000]);
  expect(notices).toHaveLength(7);
  expect(waited).toEqual([{ requests: 7, seconds: 123 }]);
});

it('gives up after its patience, with the last error of the judge', async () => {
  const { answer, gaps, waited } = ask([], 10_000);
  await expect(answer).rejects.toBeInstanceOf(JudgeError);
  expect(gaps).toEqual([1000, 2000, 4000]);
  expect(waited).toEqual([{ requests: 4, seconds: 7 }]);
});

it('gives up at once if the judge is there and broken', async () => {
  const { answer, gaps } = ask([new JudgeError('bad_verdict', 'it returned undefined')]);
  await expect(answer).rejects.toThrow('it returned undefined');
  expect(gaps).toEqual([1000]);
});

it('asks at once when the judge has answered another episode', async () => {
  const { answer, gaps, woken, listeners } = ask([away(), verdict], null, (gap) => gap === 1);
  expect(await answer).toEqual(verdict);
  expect([gaps, woken]).toEqual([
    [1000, 2000],
    [false, true],
  ]);
  expect(listeners.size).toBe(0);
});

it('waits for the whole next gap if the judge answers only other episodes, and gives up in time', async () => {
  const { answer, gaps, woken } = ask([], 10_000, () => true);
  await expect(answer).rejects.toBeInstanceOf(JudgeError);
  expect(woken).toEqual([true, false, true, false, true, false]);
  expect(gaps).toEqual([1000, 1000, 2000, 2000, 4000, 4000]);
});

it('ends at once with its signal', async () => {
  const stopped = new AbortController();
  const waiting = judgeAgain(() => Promise.resolve(verdict), away(), {
    patienceMs: null,
    signal: stopped.signal,
    onAway: () => stopped.abort(new Error('the run stops')),
    onBack: () => () => undefined,
  });
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
});
