import type { ProbeReport } from 'agentjet';
import { expect, it } from 'vitest';
import { describeProbe } from './probe-lines.js';

const rate = { rate: 0.5, low: 0.4, high: 0.6 };
const temperature = {
  temperature: 1,
  episodes: 8,
  failedEpisodes: 0,
  lostEpisodes: 0,
  rewardMean: 0.5,
  success: rate,
  solvedOnce: rate,
  groupsThatTrain: [],
  cutAnswers: rate,
  unreadCalls: null,
};
const report: ProbeReport = {
  model: 'nano',
  backbone: 'onnx',
  tasks: 2,
  availableTasks: 2,
  seconds: 1,
  isInterrupted: false,
  temperatures: [temperature],
  lengths: null,
  step: {
    tasks: 2,
    episodesPerTask: 4,
    sampling: null,
    training: null,
    timeUnknown: null,
    memory: null,
    checkpointBytes: null,
  },
  settings: [
    { key: 'rollout.temperature', value: 0.7, isKept: false, reason: 'better' },
    { key: 'rollout.num_repeat', value: 4, isKept: true, reason: 'enough' },
  ],
  expected: rate,
  advice: [],
};

const nextOf = (changes: Partial<ProbeReport>, overrides: readonly string[] = [], backbone?: string) =>
  describeProbe({ ...report, ...changes }, { conf: 'my job.yaml', overrides, backbone }).find((line) =>
    line.startsWith('next: '),
  );

it('ends with the command of the run that was probed, with the settings that the probe chose', () => {
  expect(nextOf({})).toBe("next: ajet --conf 'my job.yaml' rollout.temperature=0.7");
  const given = ['model.path=micro', 'ajet.rollout.temperature=0.5', 'rollout.user_workflow=a.ts->b'];
  expect(nextOf({}, given, 'torch')).toBe(
    "next: ajet --conf 'my job.yaml' --backbone=torch model.path=micro 'rollout.user_workflow=a.ts->b' rollout.temperature=0.7",
  );
});

it('names no next command if no episode completed', () => {
  expect(nextOf({ temperatures: [{ ...temperature, failedEpisodes: 8 }] })).toBeUndefined();
  expect(nextOf({ isInterrupted: true })).toBeUndefined();
});
