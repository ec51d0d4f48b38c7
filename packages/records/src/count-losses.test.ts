import type { Episode, TaskGroup } from '@agentjet/rollout';
import { expect, it } from 'vitest';
import { countLosses } from './count-losses.js';

type Failure = Extract<Episode, { status: 'failed' }>['error'];

const stats = { generatedTokens: 10 };
const failed = (error: Partial<Failure>) => ({ status: 'failed', error: { message: '', ...error }, stats });
const completed = { status: 'completed', reward: 1, stats };
const count = (episodes: readonly object[], lost: readonly object[] = []) =>
  countLosses({ episodes, lost } as unknown as TaskGroup);

it('counts attempts without a verdict of their judge, whether it was away or its answer was not one', () => {
  const away = failed({ code: 'judge_failed', outage: { source: 'judge', host: 'h' } });
  const dropped = failed({ code: 'judge_failed' });
  const unreadable = failed({ code: 'bad_verdict' });
  expect(count([away, dropped, unreadable, completed])).toEqual({
    outages: 1,
    outage_tokens: 10,
    judge_unavailable: 3,
  });
});

it('counts attempts that waited for their judge, also if it answered in the end', () => {
  const waited = { ...completed, judgeOutage: { requests: 3, seconds: 7 } };
  const lost = {
    ...failed({ code: 'judge_failed', outage: { source: 'judge', host: 'h' } }),
    judgeOutage: { requests: 1, seconds: 0 },
  };
  expect(count([waited, completed], [lost])).toMatchObject({
    judge_outages: 2,
    judge_outage_requests: 4,
    judge_outage_seconds: 7,
    outages: 1,
  });
});

it('counts attempts that other outages lost separately, and leaves out counts of zero', () => {
  const world = failed({ code: 'workflow_failed', outage: { source: 'environment', host: 'h' } });
  expect(count([completed], [world, world])).toEqual({ outages: 2, outage_tokens: 20 });
  expect(count([completed, failed({ code: 'workflow_failed' })])).toEqual({});
});
