import type { Episode } from '@agentjet/rollout';
import { expect, it } from 'vitest';
import { summarizeEvaluation } from './summarize-evaluation.js';

const oneEach = (episodes: readonly Episode[]): (readonly Episode[])[] => episodes.map((episode) => [episode]);

const base = {
  task: { taskId: 't', mainQuery: '', initMessages: [], metadata: {} },
  repeatIndex: 0,
  seed: 1,
  samples: [],
  turns: [],
  stats: {
    calls: 1,
    generatedTokens: 10,
    trainedTokens: 10,
    samples: 1,
    forks: {},
    splices: {},
    foreignMessages: {},
    specialTokens: {},
  },
  ignoredParameters: {},
  calls: {
    answered: 1,
    aborted: 0,
    failed: 0,
    untrained: 0,
    repeated: 0,
    truncated: 0,
    malformedToolCalls: 0,
    malformedArguments: 0,
    unknownTools: 0,
    malformedJson: 0,
  },
  metadata: {},
  seconds: 1,
};

it('a failed episode has reward 0 and is not a success; metrics are averaged over those that logged them', () => {
  const episodes: Episode[] = [
    { ...base, episodeId: 'a', logMetrics: { steps: 4 }, status: 'completed', reward: 1, isSuccess: true },
    { ...base, episodeId: 'b', logMetrics: { steps: 2, falls: 1 }, status: 'completed', reward: 0.5, isSuccess: false },
    { ...base, episodeId: 'c', logMetrics: {}, status: 'failed', error: { code: 'timeout', message: '' } },
  ];
  expect(summarizeEvaluation(oneEach(episodes))).toEqual({
    episodes: 3,
    failedEpisodes: 1,
    successRate: 1 / 3,
    rewardMean: 0.5,
    answers: 0,
    cutAnswers: 0,
    generatedTokens: 30,
    logMetrics: { steps: 3, falls: 1 },
  });
  expect(summarizeEvaluation([])).toMatchObject({ successRate: 0, rewardMean: 0 });
});

it('with several episodes per task it says how often any and how often all of them succeeded', () => {
  const episode = (isSuccess: boolean): Episode => ({
    ...base,
    episodeId: 'a',
    logMetrics: {},
    status: 'completed',
    reward: 0,
    isSuccess,
  });
  const failed: Episode = { ...episode(true), status: 'failed', error: { code: 'timeout', message: '' } };
  const groups = [
    [episode(true), episode(true)],
    [episode(true), episode(false)],
    [episode(true), failed],
    [episode(false), failed],
  ];
  expect(summarizeEvaluation(groups).passes).toEqual({ episodesPerTask: 2, any: 0.75, all: 0.25 });
  expect(summarizeEvaluation([[episode(true)]]).passes).toBeUndefined();
  expect(summarizeEvaluation([]).passes).toBeUndefined();
});

it('parts of a judge and rewards of targets are averaged over the episodes that have them', () => {
  const common = { ...base, logMetrics: {}, status: 'completed', reward: 1, isSuccess: true } as const;
  const episodes: Episode[] = [
    { ...common, episodeId: 'a', parts: { form: 1 }, rewards: { wolf: 1 } },
    { ...common, episodeId: 'b', parts: { form: 0 }, turnRewards: [{ agentName: 'a', turnIndex: 0, value: 2 }] },
  ];
  expect(summarizeEvaluation(oneEach(episodes)).means).toEqual({
    'judge/form': 0.5,
    'reward/wolf': 1,
    turn_rewards: 2,
  });
});
