import type { TurnDescription } from '@agentjet/context-tracker';
import type { Episode } from '@agentjet/rollout';
import { expect, it } from 'vitest';
import type { JobEvent } from '@agentjet/records';
import { noticeHistories } from './notice-histories.js';

type Stats = Partial<Pick<Episode['stats'], 'forks' | 'splices'>>;

function episodeWith(calls: number, stats: Stats): JobEvent {
  const turns = Array.from({ length: calls }, () => ({ agentName: 'a' })) as unknown as readonly TurnDescription[];
  const episode = { turns, stats: { forks: {}, splices: {}, ...stats } } as unknown as Episode;
  return { type: 'episode_finished', phase: 'sample', step: 1, episode };
}

const stepEnd: JobEvent = { type: 'step_finished', step: 1, totalSteps: 9, metrics: {} };

function noticesOf(events: readonly JobEvent[]): readonly string[] {
  const notices: string[] = [];
  const listener = noticeHistories((event) => void (event.type === 'notice' && notices.push(event.message)));
  for (const event of events) listener(event);
  return notices;
}

it('reports an agent that forks often once, with the cause and the page that explains it', () => {
  const forking = [
    episodeWith(15, { forks: { a: { template: 2, tools: 1 } } }),
    episodeWith(15, { forks: { a: { template: 2 } } }),
  ];
  const notices = noticesOf([...forking, stepEnd, ...forking, stepEnd]);
  expect(notices).toHaveLength(1);
  expect(notices[0]).toMatch(/"a": 4 of its 30 calls .* cause template: the chat template .*docs\/context-tracker\.md/);
});

it('reports splices when most answers come back changed', () => {
  expect(noticesOf([episodeWith(30, { splices: { a: { call_ids: 16 } } }), stepEnd])).toEqual([
    expect.stringMatching(/16 answers in 30 calls .*\(call_ids\).*history_policy: as_sent/),
  ]);
});

it('says nothing of a few, nor of a step with few calls', () => {
  const few = { forks: { a: { template: 3 } }, splices: { a: { text: 15 } } };
  expect(noticesOf([episodeWith(30, few), stepEnd])).toEqual([]);
  expect(noticesOf([episodeWith(10, { forks: { a: { template: 9 } } }), stepEnd])).toEqual([]);
});
