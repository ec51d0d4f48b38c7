import type { CommonConfig } from '@agentjet/core';
import { toEpisodeGroup, type TaskGroup } from '@agentjet/rollout';
import type { Draw } from '@agentjet/run-folder';
import type { TrainingGroup } from '@agentjet/trainer';
import { toGroupReport } from '@agentjet/records';

/** Makes the trainer's group from the episodes of a task. A dropped group has a report but no episodes. */
export function toTrainingGroup(
  group: TaskGroup,
  { rollout, trainerCommon }: CommonConfig,
  draw: Draw | undefined,
): TrainingGroup {
  const { groupId } = group;
  const trained = toEpisodeGroup(group, rollout.failedEpisodePolicy, rollout.minGroupShare) ?? {
    groupId,
    episodes: [],
  };
  return { ...trained, ...(draw === undefined ? {} : { draw }), report: toGroupReport(group, trainerCommon) };
}
