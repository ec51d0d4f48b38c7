import type { JobEvent } from '@agentjet/records';
import type { Episode } from '@agentjet/rollout';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { forecastFromLengths } from './forecast-from-lengths.js';

const { finish } = openScriptedEpisode({ replies: [] });

function episodeOf(rows: readonly number[], error?: { readonly code: string }): Episode {
  const samples = rows.map((length) => ({ ids: Array.from({ length }, () => 1) }));
  const outcome = error === undefined ? { status: 'completed', reward: 1 } : { status: 'failed', error };
  const { stats } = finish();
  return { ...outcome, samples, stats: { ...stats, generatedTokens: 10 } } as unknown as Episode;
}

function listen(episodes: readonly Episode[]): readonly JobEvent[] {
  const heard: JobEvent[] = [];
  const listener = forecastFromLengths(
    (event) => heard.push(event),
    ({ longestSample }) => `room for ${longestSample}`,
  );
  for (const step of [1, 2]) {
    for (const episode of episodes) listener({ type: 'episode_finished', phase: 'sample', step, episode });
    listener({ type: 'phase_started', phase: 'train', step, episodes: episodes.length });
  }
  return heard;
}

const noticesOf = (heard: readonly JobEvent[]): readonly string[] =>
  heard.flatMap((event) => (event.type === 'notice' ? [event.message] : []));

it('is given once, before the first step, with the lengths that the episodes had', () => {
  const heard = listen([episodeOf([30, 10]), episodeOf([20])]);
  expect(noticesOf(heard)).toEqual([
    'The first 2 episodes have 30 tokens on average, and the longest row has 30. With these lengths: room for 30.',
  ]);
  const types = heard.map(({ type }) => type);
  expect(types.indexOf('notice')).toBe(types.indexOf('phase_started') - 1);
});

it('does not count attempts that an outage ended, and is not given without tokens', () => {
  const lost = episodeOf([500], { code: 'aborted' });
  expect(noticesOf(listen([episodeOf([20]), lost]))[0]).toContain('The first 1 episodes have 20 tokens');
  expect(noticesOf(listen([lost]))).toEqual([]);
});
