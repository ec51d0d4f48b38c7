import { expect, it } from 'vitest';
import type { EpisodeSummary } from '../episode/summarize-episodes.js';
import { formatEpisodeList } from './format-episode-list.js';

it('an episode of an evaluation shows no trained tokens', async () => {
  const common = { step: 1, taskId: 't', status: 'completed', reward: 1, samples: 1, generatedTokens: 29 };
  async function* list(): AsyncGenerator<EpisodeSummary> {
    yield { ...common, episodeId: 'eval-1-t', trainedTokens: null };
    yield { ...common, episodeId: 'e1-t-r0', trainedTokens: 29 };
  }
  const lines: string[] = [];
  for await (const line of formatEpisodeList(list())) lines.push(line);
  expect(lines.slice(1).map((line) => line.trim().split(/\s+/)[3])).toEqual(['-', '29']);
});
