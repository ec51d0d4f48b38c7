import type { ClaimAnswer, ClaimedEpisode } from '@agentjet/swarm-wire';
import { expect, it } from 'vitest';
import { SharedClaims } from './shared-claims.js';

const episodes = (first: number, count: number): ClaimedEpisode[] =>
  Array.from({ length: count }, (_none, at) => ({ episode_id: `e${first + at}` }) as ClaimedEpisode);

/** Answers the claims in turn with as many episodes, or with what the function returns. Records the counts. */
function open(answers: readonly (number | (() => ClaimAnswer | undefined))[]) {
  const counts: number[] = [];
  const stop = new AbortController();
  let given = 0;
  let rests = 0;
  const claims = new SharedClaims({
    claim: async (count) => {
      const answer = answers[counts.length] ?? 0;
      counts.push(count);
      if (typeof answer === 'function') return answer();
      given += answer;
      return { episodes: episodes(given - answer, answer) };
    },
    isDone: ({ reason }) => reason === 'no_task',
    rest: async () => void rests++,
    gather: () => new Promise((resolve) => setImmediate(resolve)),
    signal: stop.signal,
  });
  const ask = (slots: number) => Promise.all(Array.from({ length: slots }, () => claims.next()));
  const idsOf = async (slots: number) => (await ask(slots)).map((each) => each?.episode_id);
  return { ask, idsOf, counts, stop, restsTaken: () => rests };
}

it('claims the episodes of slots that are idle at the same time with one request', async () => {
  const { idsOf, counts } = open([3, 1]);
  expect(await idsOf(3)).toEqual(['e0', 'e1', 'e2']);
  expect(await idsOf(1)).toEqual(['e3']);
  expect(counts).toEqual([3, 1]);
});

it('claims at most eight episodes at a time, so that other clients get some too', async () => {
  const { idsOf, counts } = open([8, 8, 4]);
  expect(new Set(await idsOf(20)).size).toBe(20);
  expect(counts).toEqual([8, 8, 4]);
});

it('claims again for the slots that got nothing, at once if there was something and after a rest if not', async () => {
  const { idsOf, counts, restsTaken } = open([2, 0, () => undefined, 3]);
  expect(await idsOf(5)).toEqual(['e0', 'e1', 'e2', 'e3', 'e4']);
  expect(counts).toEqual([5, 3, 3, 3]);
  expect(restsTaken()).toBe(2);
});

it('resolves without an episode for all slots if no more come', async () => {
  const { idsOf, restsTaken } = open([1, () => ({ episodes: [], reason: 'no_task' })]);
  expect(await idsOf(3)).toEqual(['e0', undefined, undefined]);
  expect(restsTaken()).toBe(0);
});

it('rejects for all slots if the server refuses the client', async () => {
  const refuse = (): never => {
    throw new Error('refused');
  };
  const { ask } = open([refuse]);
  await expect(ask(2)).rejects.toThrow('refused');
});

it('claims nothing once the client has stopped', async () => {
  const { idsOf, counts, stop } = open([2]);
  stop.abort();
  expect(await idsOf(2)).toEqual([undefined, undefined]);
  expect(counts).toEqual([]);
});
