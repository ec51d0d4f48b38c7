import type { CommonConfig } from '@agentjet/core';
import { isSamplingMixed, type Episode, type TaskGroup } from '@agentjet/rollout';
import type { EpisodeRecord } from '@agentjet/run-folder';
import type { AttemptLength, GroupReport } from '@agentjet/trainer';
import { countAnswers, countMalformedCalls, kindOfGroup } from './count-answers.js';
import { countLosses } from './count-losses.js';
import { toEpisodeLine } from './episode-line.js';
import { toEpisodeMeans } from './episode-means.js';
import { countHistories } from './history-counts.js';

/** The episodes of a task: those that count, and earlier attempts that were lost to outages. */
export type SampledGroup = Pick<TaskGroup, 'groupId' | 'episodes' | 'lost' | 'isGivenUp'>;

/**
 * Returns the report about a group that a step records, in ordinary runs and in swarms. The lines of `trained` episodes
 * have no samples, because a step records their samples with the credit.
 */
export function toGroupReport(
  group: SampledGroup,
  { reportBy }: Pick<CommonConfig['trainerCommon'], 'reportBy'>,
  trained: ReadonlySet<string> = new Set(),
): GroupReport {
  const { episodes, lost } = group;
  const kind = kindOfGroup(episodes, reportBy);
  return {
    episodes: episodes.length,
    failedEpisodes: episodes.filter(({ status }) => status === 'failed').length,
    successes: episodes.filter((episode) => episode.status === 'completed' && episode.isSuccess).length,
    ...(kind !== undefined && { kind }),
    rewardSum: episodes.reduce((sum, episode) => sum + (episode.status === 'completed' ? episode.reward : 0), 0),
    generatedTokens: [...episodes, ...lost].reduce((sum, { stats }) => sum + stats.generatedTokens, 0),
    counts: {
      ...countAnswers(episodes),
      ...countMalformedCalls(episodes),
      ...countHistories(episodes),
      ...countLosses(group),
      ...(isSamplingMixed(episodes) && { groups_of_mixed_sampling: 1 }),
    },
    logMetrics: episodes.map(({ logMetrics }) => logMetrics),
    means: episodes.map(toEpisodeMeans),
    attempts: [...episodes, ...lost].map(toAttemptLength),
    ...(group.isGivenUp === true && { staleEpisodes: episodes.length }),
    records: [
      ...episodes.map((each) => (trained.has(each.episodeId) ? withoutSamples(each) : each)),
      ...lost.map(withoutSamples),
    ].map(toEpisodeLine),
  };
}

/** Returns the lines of a group in an evaluation, which has no report. */
export const toGroupLines = ({ groupId, episodes }: SampledGroup): readonly EpisodeRecord[] =>
  episodes.map((episode) => {
    const { episode_id: id, ...line } = toEpisodeLine(episode);
    return { episode_id: id, group_id: groupId, ...line };
  });

/** Removes the samples of an episode whose line does not show them. */
const withoutSamples = (episode: Episode): Episode => ({ ...episode, samples: [] });

/** Error codes of episodes that were aborted, so that they have only a part of their tokens. */
const cutCodes: ReadonlySet<string> = new Set(['stale', 'timeout', 'aborted']);

/**
 * Returns the length of an attempt. If the agent ended the attempt itself, it counts as complete, even if it failed.
 */
function toAttemptLength(episode: Episode): AttemptLength {
  const { episodeId, seconds, stats } = episode;
  const isCut = episode.status === 'failed' && (episode.error.outage !== undefined || cutCodes.has(episode.error.code));
  return { episodeId, seconds, tokens: stats.generatedTokens, isCut };
}
