import type { CommonConfig, MeasuredLengths, RewardedEpisode } from '@agentjet/core';
import type { ProbedTask } from '@agentjet/probe';
import { countAnswers } from '@agentjet/records';
import { isAgentsFailure, type Episode } from '@agentjet/rollout';
import { EpisodeLengths } from '../episode-lengths.js';

/** What a probe has seen at one temperature. It keeps counts and lengths, and the tokens of a few episodes. */

type TaskTally = { -readonly [Key in keyof ProbedTask]: ProbedTask[Key] };

/**
 * The maximum size of `representatives`. Further rewards are not checked: if there are so many different ones, two
 * episodes rarely get the same.
 */
const mostRepresentatives = 100;

export class ProbeTally {
  readonly temperature: number;
  /** One episode for each value of `EpisodeOutcome.value`. */
  readonly representatives = new Map<string, RewardedEpisode>();
  episodes = 0;
  failed = 0;
  /** Attempts that were lost because of an outage or the judge. */
  lost = 0;
  rewardSum = 0;
  /** Calls of the models that learn. */
  calls = 0;
  /** The first error of an agent. */
  firstError: string | undefined;
  readonly #lengths = new EpisodeLengths();
  readonly #countsFailures: boolean;
  readonly #tasks = new Map<string, TaskTally>();

  constructor(temperature: number, policy: CommonConfig['rollout']['failedEpisodePolicy']) {
    this.temperature = temperature;
    this.#countsFailures = policy === 'zero_reward';
  }

  add(episode: Episode): void {
    const isCompleted = episode.status === 'completed';
    if (!isCompleted && episode.error.code === 'aborted') return;
    if (!isCompleted && !isAgentsFailure(episode.error)) return void this.lost++;
    this.episodes++;
    this.calls += episode.stats.calls;
    if (isCompleted) this.rewardSum += episode.reward;
    else {
      this.failed++;
      this.firstError ??= episode.error.message;
    }
    this.#lengths.add(episode);
    const task = this.#taskOf(episode.task.taskId);
    const { answers, answers_cut: cut } = countAnswers([episode]);
    task.outcomes = [...task.outcomes, { value: this.#valueOf(episode), isSuccess: isCompleted && episode.isSuccess }];
    task.answers += answers;
    task.cutAnswers += cut;
    task.unreadCalls += Math.min(answers, episode.calls.malformedToolCalls);
  }

  /** The tasks in the order of their ids, so that two temperatures can be compared task by task. */
  tasks(ids: readonly string[]): readonly ProbedTask[] {
    return ids.map((id) => this.#tasks.get(id) ?? emptyTask(id));
  }

  /** Null if no episode had tokens. */
  lengths(): MeasuredLengths | null {
    return this.#lengths.measured();
  }

  #taskOf(taskId: string): TaskTally {
    const known = this.#tasks.get(taskId) ?? emptyTask(taskId);
    this.#tasks.set(taskId, known);
    return known;
  }

  #valueOf(episode: Episode): string | null {
    if (episode.status !== 'completed' && !this.#countsFailures) return null;
    const rewarded = toRewarded(episode);
    const { reward, rewards, turnRewards } = rewarded;
    // Round the rewards, because algorithms treat rewards as equal if they differ only by rounding.
    const value = JSON.stringify([reward, rewards, turnRewards], (_key, part: unknown) =>
      typeof part === 'number' ? Number(part.toPrecision(9)) : part,
    );
    if (this.representatives.size < mostRepresentatives && !this.representatives.has(value))
      this.representatives.set(value, rewarded);
    return value;
  }
}

function toRewarded(episode: Episode): RewardedEpisode {
  const { episodeId, samples } = episode;
  if (episode.status !== 'completed') return { episodeId, samples, reward: 0 };
  const { reward, rewards, turnRewards } = episode;
  return { episodeId, samples, reward, ...(rewards && { rewards }), ...(turnRewards && { turnRewards }) };
}

const emptyTask = (taskId: string): TaskTally => ({ taskId, outcomes: [], answers: 0, cutAnswers: 0, unreadCalls: 0 });
