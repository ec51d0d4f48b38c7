import { isSamplingMixed, type Episode, type TaskGroup } from '@agentjet/rollout';
import type { EpisodeRecord } from '@agentjet/run-folder';
import type { AttemptLength, GroupReport } from '@agentjet/trainer';
import { countAnswers, countMalformedCalls } from './count-answers.js';
import { countLosses } from './count-losses.js';
import { toEpisodeLine } from './episode-line.js';
import { toEpisodeMeans } from './episode-means.js';
import { countHistories } from './history-counts.js';

/** The episodes of a task: the last one of each place, and attempts before them that the world lost. */
export type SampledGroup = Pick<TaskGroup, 'groupId' | 'episodes' | 'lost' | 'isGivenUp'>;

/** What a step says of a group, in an ordinary run and in a swarm. */
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

/** The lines of an evaluation's group, which has no report. */
export const toGroupLines = ({ groupId, episodes }: SampledGroup): readonly EpisodeRecord[] =>
  episodes.map((episode) => ({ ...toEpisodeLine(episode), group_id: groupId }));

/** Only an episode that fills a place is trained. */
const withoutSamples = (episode: Episode): Episode => ({ ...episode, samples: [] });

/** Codes of episodes that somebody else ended. */
const cutCodes: ReadonlySet<string> = new Set(['stale', 'timeout', 'aborted']);

/** An attempt that its agent ended, well or badly, was not cut short. */
function toAttemptLength(episode: Episode): AttemptLength {
  const { episodeId, seconds, stats } = episode;
  const isCut = episode.status === 'failed' && (episode.error.outage !== undefined || cutCodes.has(episode.error.code));
  return { episodeId, seconds, tokens: stats.generatedTokens, isCut };
}
