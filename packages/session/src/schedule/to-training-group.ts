import type { CommonConfig } from '@agentjet/core';
import { isSamplingMixed, toEpisodeGroup, type Episode, type TaskGroup } from '@agentjet/rollout';
import type { Draw } from '@agentjet/run-folder';
import type { AttemptLength, TrainingGroup } from '@agentjet/trainer';
import { toEpisodeRecord } from '../rollout/episode-record.js';
import { countAnswers } from './count-answers.js';
import { countLosses } from './count-losses.js';
import { toEpisodeMeans } from './episode-means.js';
import { countHistories } from './history-counts.js';

/** What the trainer gets of a task's episodes: a dropped group comes without episodes, with its report. */
export function toTrainingGroup(group: TaskGroup, { rollout }: CommonConfig, draw: Draw | undefined): TrainingGroup {
  const { groupId, episodes, lost } = group;
  const trained = toEpisodeGroup(group, rollout.failedEpisodePolicy, rollout.minGroupShare) ?? {
    groupId,
    episodes: [],
  };
  return {
    ...trained,
    ...(draw === undefined ? {} : { draw }),
    report: {
      episodes: episodes.length,
      failedEpisodes: episodes.filter(({ status }) => status === 'failed').length,
      successes: episodes.filter((episode) => episode.status === 'completed' && episode.isSuccess).length,
      rewardSum: episodes.reduce((sum, episode) => sum + (episode.status === 'completed' ? episode.reward : 0), 0),
      generatedTokens: [...episodes, ...lost].reduce((sum, { stats }) => sum + stats.generatedTokens, 0),
      counts: {
        ...countAnswers(episodes),
        ...countHistories(episodes),
        ...countLosses(group),
        ...(isSamplingMixed(episodes) && { groups_of_mixed_sampling: 1 }),
      },
      logMetrics: episodes.map(({ logMetrics }) => logMetrics),
      means: episodes.map(toEpisodeMeans),
      attempts: [...episodes, ...lost].map(toAttemptLength),
      ...(group.isGivenUp === true && { staleEpisodes: episodes.length }),
      records: [...episodes, ...lost.map(withoutSamples)].map(toEpisodeRecord),
    },
  };
}

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
