import { toSampleRecord, type EpisodeRecord } from '@agentjet/run-folder';
import type { CreditedGroup } from './credit-groups.js';
import type { TrainingGroup } from './training-group.js';

/**
 * Returns the lines of episodes/ for one step: first every episode of the groups with its credited samples, then the
 * episodes that only a report mentions.
 */
export function toEpisodeRecords(credited: readonly CreditedGroup<TrainingGroup>[]): EpisodeRecord[] {
  return credited.flatMap(({ group, samples }) => {
    const said = new Map(group.report?.records?.map((record) => [record.episode_id, record]));
    const trained = group.episodes.map(({ episodeId, reward }) => ({
      episode_id: episodeId,
      group_id: group.groupId,
      reward,
      ...said.get(episodeId),
      samples: samples.filter((sample) => sample.episodeId === episodeId).map(toSampleRecord),
    }));
    const present = new Set(group.episodes.map(({ episodeId }) => episodeId));
    const others = [...said.values()].filter((record) => !present.has(record.episode_id));
    return [...trained, ...others.map((record) => ({ group_id: group.groupId, samples: [], ...record }))];
  });
}
