import type { Episode } from '@agentjet/rollout';
import { completedEpisode } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { toGroupReport } from './group-report.js';

function createEpisode(episodeId: string): Episode {
  const sample = {
    episodeId,
    agentName: 'a',
    targetTag: 'a',
    ids: Int32Array.of(0, 1),
    lossMask: Uint8Array.of(0, 1),
    logprobs: Float32Array.of(0, -1),
    policyVersions: Int32Array.of(-1, 0),
    advantages: new Float32Array(2),
  };
  return completedEpisode({ episodeId, samples: [sample] });
}

it('leaves out the samples of trained episodes, which a step records with their credit', () => {
  const group = { groupId: 'g', episodes: [createEpisode('trained'), createEpisode('other')], lost: [] };
  const samplesIn = (trained?: ReadonlySet<string>) =>
    toGroupReport(group, { reportBy: null }, trained).records?.map(({ samples }) => (samples as unknown[]).length);
  expect(samplesIn()).toEqual([1, 1]);
  expect(samplesIn(new Set(['trained']))).toEqual([0, 1]);
});
