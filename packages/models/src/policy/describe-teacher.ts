import type { CommonConfig, JsonObject } from '@agentjet/core';
import { readModelConfig } from '@agentjet/trainer';
import { resolveModelDir, type ModelDirOptions } from './model-dir.js';

/**
 * Returns config.json of the model that scores the samples: a teacher, or the initial model for KL in the reward.
 * Returns undefined if this machine opens no such model. Downloads only small files.
 */
export async function describeTeacher(
  { teacher, model, trainerCommon }: CommonConfig,
  options: Pick<ModelDirOptions, 'signal' | 'onNotice'>,
): Promise<JsonObject | undefined> {
  if (trainerCommon.algorithm.useKlInReward)
    return await readModelConfig(await resolveModelDir(model.path, { ...options, withWeights: false }));
  if (teacher.model === null || teacher.baseUrl !== null) return undefined;
  const dir = await resolveModelDir(teacher.model, { ...options, withWeights: false, setting: 'teacher.model' });
  return await readModelConfig(dir);
}
