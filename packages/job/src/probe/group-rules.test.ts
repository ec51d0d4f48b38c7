import type { Algorithm, CommonConfig, RewardedEpisode, Sample } from '@agentjet/core';
import { createConfig } from '@agentjet/inputs/testing';
import { createGrpo, createReinforce } from '@agentjet/trainer';
import { expect, it } from 'vitest';
import { toGroupRules } from './group-rules.js';

const sample = (episodeId: string): Sample => ({
  episodeId,
  agentName: 'a',
  targetTag: 'a',
  ids: Int32Array.of(1, 2),
  lossMask: Uint8Array.of(0, 1),
  logprobs: Float32Array.of(0, -1),
  policyVersions: Int32Array.of(-1, 0),
  turnIndices: Int32Array.of(-1, 0),
  advantages: new Float32Array(2),
});
const representatives = new Map(
  [0, 1].map((reward): [string, RewardedEpisode] => [
    `${reward}`,
    { episodeId: `e${reward}`, reward, samples: [sample(`e${reward}`)] },
  ]),
);
const trained = (algorithm: Algorithm): readonly string[] => [
  ...toGroupRules(createConfig(), algorithm, representatives).trainedIfEqual,
];

it('equal rewards train nothing if the episodes of a group are compared', () => {
  expect(trained(createGrpo())).toEqual([]);
  expect(trained(createReinforce({ baseline: 'group' }))).toEqual([]);
});

it('equal rewards train if they are compared with nothing, or with other groups', () => {
  expect(trained(createReinforce({ baseline: 'none' }))).toEqual(['1']);
  expect(trained(createReinforce({ baseline: 'batch' }))).toEqual(['0', '1']);
});

it('equal rewards train if a teacher scores the tokens', () => {
  const teachable: Algorithm = {
    name: 'taught',
    needsTeacher: true,
    credit: ({ episodes }) =>
      episodes.flatMap(({ samples }) =>
        samples.map(({ teacherLogprobs, ...sample }) => {
          if (teacherLogprobs === undefined) throw new Error('no teacher has scored the sample');
          return { ...sample, advantages: teacherLogprobs.map((value, t) => value - (sample.logprobs[t] ?? 0)) };
        }),
      ),
  };
  expect(trained(teachable)).toEqual(['0', '1']);
});

it('takes the rules for failed episodes from the configuration', () => {
  const rules = (policy: CommonConfig['rollout']['failedEpisodePolicy']) => {
    const { dropsFailed, minShare } = toGroupRules(
      createConfig({ rollout: { failedEpisodePolicy: policy, minGroupShare: 0.75 } }),
      createGrpo(),
      new Map(),
    );
    return { dropsFailed, minShare };
  };
  expect(rules('partial_group')).toEqual({ dropsFailed: false, minShare: 0.75 });
  expect(rules('drop_group')).toEqual({ dropsFailed: true, minShare: 1 });
  expect(rules('zero_reward')).toEqual({ dropsFailed: false, minShare: 1 });
});
