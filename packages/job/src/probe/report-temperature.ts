import type { CommonConfig } from '@agentjet/core';
import { groupSizes, scoreGroups, type GroupRules, type ProbedTask } from '@agentjet/probe';
import { toRate, type Rate } from '@agentjet/core/success';
import type { TemperatureReport } from './probe-report.js';
import type { ProbeTally } from './probe-tally.js';

type ReportOptions = {
  readonly config: CommonConfig;
  readonly tasks: readonly ProbedTask[];
  readonly rules: GroupRules;
};

export function reportTemperature(tally: ProbeTally, { config, tasks, rules }: ReportOptions): TemperatureReport {
  const { temperature, episodes, failed, lost, rewardSum } = tally;
  const share = (count: (task: ProbedTask) => readonly [number, number]): Rate | null =>
    toRate(
      tasks.map((task) => {
        const [successes, trials] = count(task);
        return { successes, trials };
      }),
    );
  const successes = ({ outcomes }: ProbedTask): number => outcomes.filter(({ isSuccess }) => isSuccess).length;
  return {
    temperature,
    episodes,
    failedEpisodes: failed,
    lostEpisodes: lost,
    rewardMean: episodes === failed ? null : rewardSum / episodes,
    success: share((task) => [successes(task), task.outcomes.length]),
    solvedOnce: share((task) => [successes(task) > 0 ? 1 : 0, task.outcomes.length > 0 ? 1 : 0]),
    groupsThatTrain: sizesOf(config).map((numRepeat) => ({
      numRepeat,
      share: toRate(scoreGroups(tasks, numRepeat, rules)),
    })),
    cutAnswers: share(({ cutAnswers, answers }) => [cutAnswers, answers]),
    unreadCalls: share(({ unreadCalls, answers }) => [unreadCalls, answers]),
  };
}

const sizesOf = ({ rollout }: CommonConfig): readonly number[] =>
  [...new Set([...groupSizes, rollout.numRepeat])].sort((left, right) => left - right);
