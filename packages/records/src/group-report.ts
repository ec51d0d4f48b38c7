import { isSamplingMixed, type Episode, type TaskGroup } from '@agentjet/rollout';
import type { EpisodeRecord } from '@agentjet/run-folder';
import type { AttemptLength, GroupReport } from '@agentjet/trainer';
import { countAnswers, countMalformedCalls } from './count-answers.js';
import { countLosses } from './count-losses.js';
import { toEpisodeLine } from './episode-line.js';
import { toEpisodeMeans } from './episode-means.js';
import { countHistories } from './history-counts.js';

/** The episodes of a task: the last one of each place, and the earlier attempts that were lost to outages. */
export type SampledGroup = Pick<TaskGroup, 'groupId' | 'episodes' | 'lost' | 'isGivenUp'>;

/** The report of a step about a group, in ordinary runs and in swarms. */
export function toGroupReport(group: SampledGroup): GroupReport {
  const { episodes, lost } = group;
  return {
    episodes: episodes.length,
    failedEpisodes: episodes.filter(({ status }) => status === 'failed').length,
    successes: episodes.filter((episode) => episode.status === 'completed' && episode.isSuccess).length,
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
    records: [...episodes, ...lost.map(withoutSamples)].map(toEpisodeLine),
  };
}

/** The lines of a group in an evaluation. Such a group has no report. */
export const toGroupLines = ({ groupId, episodes }: SampledGroup): readonly EpisodeRecord[] =>
  episodes.map((episode) => ({ ...toEpisodeLine(episode), group_id: groupId }));

/** Only an episode that fills a place is trained. */
const withoutSamples = (episode: Episode): Episode => ({ ...episode, samples: [] });

/** Codes of episodes that were ended from outside. */
const cutCodes: ReadonlySet<string> = new Set(['stale', 'timeout', 'aborted']);

/** An attempt that its agent ended itself was not cut short, even if it failed. */
function toAttemptLength(episode: Episode): AttemptLength {
  const { episodeId, seconds, stats } = episode;
  const isCut = episode.status === 'failed' && (episode.error.outage !== undefined || cutCodes.has(episode.error.code));
  return { episodeId, seconds, tokens: stats.generatedTokens, isCut };
}
