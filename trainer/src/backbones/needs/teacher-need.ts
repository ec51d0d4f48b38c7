import { sumParts, type MemoryPart, type NeedRequest, type ResourceNeed } from '@agentjet/core';

/** Returns the memory of a teacher that a second set of the backbone's workers holds on the same devices. */
export function teacherParts(
  { teacher, ...request }: NeedRequest,
  estimate: (request: NeedRequest) => ResourceNeed,
): readonly MemoryPart[] {
  if (teacher === undefined) return [];
  const { lora, rollout } = request.config;
  const config = { ...request.config, lora: { ...lora, rank: 0 }, rollout: { ...rollout, name: 'builtin' as const } };
  const { parts } = estimate({ ...request, config, model: teacher, trains: false });
  return [{ name: 'teacher', bytes: sumParts(parts) }];
}

/** Returns whether the run opens a second model on this machine that scores the samples. */
export function opensTeacher({ teacher, trainerCommon }: NeedRequest['config']): boolean {
  return trainerCommon.algorithm.useKlInReward || (teacher.model !== null && teacher.baseUrl === null);
}

export type Seconds = Pick<ResourceNeed, 'stepSeconds' | 'trainingSeconds' | 'timeUnknown'>;

/** Adds the time of a teacher to the time of a step. A time that is not known stays unknown. */
export function withTeacherSeconds(seconds: Seconds, teacherSeconds: number): Seconds {
  return seconds.stepSeconds === null ? seconds : { ...seconds, stepSeconds: seconds.stepSeconds + teacherSeconds };
}
