import { wilsonInterval } from '@agentjet/core/success';
import { type Episode, noCalls, nothingTracked } from '@agentjet/rollout';
import { expect, it } from 'vitest';
import { readChange, summarizeEvaluation, toEvaluationRecord } from './summarize-evaluation.js';

type Config = Parameters<typeof summarizeEvaluation>[1];

const configWith = (valPassN: number): Config =>
  ({
    rollout: { temperature: 0.7, valKwargs: { temperature: 0 } },
    trainerCommon: { valPassN, reportBy: 'kind' },
  }) as Config;

const summarize = (groups: readonly (readonly Episode[])[], valPassN = 1) =>
  summarizeEvaluation(groups, configWith(valPassN));

const oneEach = (episodes: readonly Episode[]): (readonly Episode[])[] => episodes.map((episode) => [episode]);

const base = {
  task: { taskId: 't', mainQuery: '', initMessages: [], metadata: {} },
  repeatIndex: 0,
  seed: 1,
  samples: [],
  turns: [],
  stats: { ...nothingTracked, calls: 1, generatedTokens: 10, trainedTokens: 10, samples: 1 },
  ignoredParameters: {},
  calls: { ...noCalls, answered: 1 },
  metadata: {},
  seconds: 1,
};

it('a failed episode has reward 0 and is not a success; metrics are averaged over those that logged them', () => {
  const episodes: Episode[] = [
    { ...base, episodeId: 'a', logMetrics: { steps: 4 }, status: 'completed', reward: 1, isSuccess: true },
    { ...base, episodeId: 'b', logMetrics: { steps: 2, falls: 1 }, status: 'completed', reward: 0.5, isSuccess: false },
    { ...base, episodeId: 'c', logMetrics: {}, status: 'failed', error: { code: 'timeout', message: '' } },
  ];
  expect(summarize(oneEach(episodes))).toEqual({
    episodes: 3,
    failedEpisodes: 1,
    successRate: 1 / 3,
    interval: wilsonInterval(1 / 3, 3),
    temperature: 0,
    scores: [1, 0, 0].map((successes) => ({ taskId: 't', successes, trials: 1 })),
    rewardMean: 0.5,
    answers: 0,
    cutAnswers: 0,
    generatedTokens: 30,
    logMetrics: { steps: 3, falls: 1 },
  });
  expect(summarize([])).toMatchObject({ successRate: 0, rewardMean: 0 });
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
  expect(summarize(groups).passes).toEqual({ episodesPerTask: 2, any: 0.75, all: 0.25 });
  expect(summarize([[episode(true)]]).passes).toBeUndefined();
  expect(summarize([]).passes).toBeUndefined();
});

it('parts of a judge and rewards of targets are averaged over the episodes that have them', () => {
  const common = { ...base, logMetrics: {}, status: 'completed', reward: 1, isSuccess: true } as const;
  const episodes: Episode[] = [
    { ...common, episodeId: 'a', parts: { form: 1 }, rewards: { wolf: 1 } },
    { ...common, episodeId: 'b', parts: { form: 0 }, turnRewards: [{ agentName: 'a', turnIndex: 0, value: 2 }] },
  ];
  expect(summarize(oneEach(episodes)).means).toEqual({
    'judge/form': 0.5,
    'reward/wolf': 1,
    turn_rewards: 2,
  });
});

const task = (taskId: string, kind?: string): Episode['task'] => {
  return { taskId, mainQuery: '', initMessages: [], metadata: kind === undefined ? {} : { kind } };
};
const common = { ...base, logMetrics: {}, status: 'completed', reward: 1 } as const;
const lost: Episode = {
  ...base,
  episodeId: 'lost',
  logMetrics: {},
  status: 'failed',
  error: { code: 'outage', message: '', outage: { source: 'engine', host: 'engine' } },
};

it('success is reported by the kind that the metadata of a task names, and lost episodes are not tried', () => {
  const groups: Episode[][] = [
    [{ ...common, episodeId: 'a', task: task('a', 'sum'), isSuccess: true }],
    [{ ...common, episodeId: 'b', task: task('b', 'sum'), isSuccess: false }],
    [{ ...common, episodeId: 'c', task: task('c', 'date'), isSuccess: true }],
    [{ ...lost, task: task('d', 'date') }],
    [{ ...common, episodeId: 'e', task: task('e'), isSuccess: true }],
  ];
  const summary = summarize(groups);
  expect(summary.kinds).toEqual([
    { kind: 'sum', successRate: 0.5, interval: wilsonInterval(0.5, 2), tasks: 2 },
    { kind: 'date', successRate: 1, interval: wilsonInterval(1, 1), tasks: 1 },
  ]);
  expect(toEvaluationRecord({ ...summary, step: 4, seconds: 1 })).toMatchObject({
    success_rate: 0.75,
    success_low: wilsonInterval(0.75, 4).low,
    temperature: 0,
    'success/sum': 0.5,
    'tasks/date': 1,
  });
});

it('episodes after `val_pass_n` are sampled as in training and change no other figure', () => {
  const at = (repeatIndex: number, isSuccess: boolean): Episode => ({
    ...common,
    episodeId: `e${repeatIndex}`,
    repeatIndex,
    isSuccess,
  });
  const groups = [
    [at(0, true), at(1, false), at(2, false)],
    [at(0, false), at(1, true), { ...lost, repeatIndex: 2 }],
  ];
  const summary = summarize(groups);
  expect(summary).toMatchObject({ successRate: 0.5, episodes: 2, failedEpisodes: 0 });
  expect(summary.passes).toBeUndefined();
  expect(summary.sampled).toMatchObject({ temperature: 0.7, successRate: 1 / 3, episodes: 4 });
  expect(toEvaluationRecord({ ...summary, step: 0, seconds: 1 })).toMatchObject({
    sampled_success_rate: 1 / 3,
    sampled_temperature: 0.7,
    sampled_episodes: 4,
  });
  expect(summarize(groups, 3).sampled).toBeUndefined();
});

it('a line holds the change since the first evaluation', () => {
  const change = { difference: 0.2, low: -0.1, high: 0.4, sinceStep: 0, tasks: 20 };
  const record = toEvaluationRecord({ ...summarize([]), step: 9, seconds: 1, change });
  expect(record).toMatchObject({ success_change: 0.2, success_change_low: -0.1, success_change_tasks: 20 });
  expect(readChange(record)).toEqual(change);
  expect(readChange({ step: 0, success_rate: 1 })).toBeUndefined();
});
