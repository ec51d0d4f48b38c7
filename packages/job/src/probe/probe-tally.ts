import type { MeasuredLengths, RewardedEpisode } from '@agentjet/core';
import { shapeRewards, type RewardShaping } from '@agentjet/trainer';
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

/** How the run treats episodes. */
export type EpisodeRules = {
  /** Whether a failed episode counts with a reward of 0. */
  readonly countsFailures: boolean;
  /** Whether episodes with a cut answer are not trained, although their rewards are compared. */
  readonly masksCutAnswers: boolean;
  /** These settings say what long answers cost. The KL from the initial model is not known, and is 0 at first. */
  readonly overlong: RewardShaping['overlong'];
};

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
  readonly #rules: EpisodeRules;
  readonly #tasks = new Map<string, TaskTally>();

  constructor(temperature: number, rules: EpisodeRules) {
    this.temperature = temperature;
    this.#rules = rules;
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
    const isMasked = this.#rules.masksCutAnswers && cut > 0;
    const isSuccess = isCompleted && episode.isSuccess;
    task.outcomes = [...task.outcomes, { value: this.#valueOf(episode), isSuccess, ...(isMasked && { isMasked }) }];
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
    const { countsFailures, overlong } = this.#rules;
    if (episode.status !== 'completed' && !countsFailures) return null;
    const rewarded = shapedBy(overlong, toRewarded(episode));
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

function shapedBy(overlong: RewardShaping['overlong'], episode: RewardedEpisode): RewardedEpisode {
  if (overlong === undefined) return episode;
  const [group] = shapeRewards([{ groupId: '', episodes: [episode] }], { overlong });
  return group?.episodes[0] ?? episode;
}

const emptyTask = (taskId: string): TaskTally => ({ taskId, outcomes: [], answers: 0, cutAnswers: 0, unreadCalls: 0 });
