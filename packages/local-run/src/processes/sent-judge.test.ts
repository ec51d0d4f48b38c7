import { expect, it } from 'vitest';
import { SentJudge } from './sent-judge.js';

it('reports to the run which episode waits for its judge, and wakes that one alone when the run says so', () => {
  const sent: string[] = [];
  const judge = new SentJudge((episodeId, message) => void sent.push(`${episodeId}: ${message}`));
  const keeper = judge.keeperOf({ scorePatienceMs: 5 }, 'e1');
  keeper?.judgeIsAway('e1', 'no quota');
  expect(sent).toEqual(['e1: no quota']);
  let numWoken = 0;
  const leave = keeper?.onJudgeBack?.(() => numWoken++);
  judge.back('e2');
  judge.back('e1');
  expect(numWoken).toBe(1);
  leave?.();
  judge.back('e1');
  expect([numWoken, keeper?.scorePatienceMs]).toEqual([1, 5]);
});

it('has nobody wait who may not', () => {
  expect(new SentJudge(() => undefined).keeperOf({}, 'e1')).toBeUndefined();
});
