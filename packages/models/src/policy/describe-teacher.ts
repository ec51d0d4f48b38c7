import type { CommonConfig, JsonObject } from '@agentjet/core';
import { readModelConfig } from '@agentjet/trainer';
import { resolveModelDir, type ModelDirOptions } from './model-dir.js';

/** Returns config.json of the teacher. Undefined if there is no teacher on this machine. Downloads only small files. */
export async function describeTeacher(
  { teacher }: CommonConfig,
  options: Pick<ModelDirOptions, 'signal' | 'onNotice'>,
): Promise<JsonObject | undefined> {
  if (teacher.model === null || teacher.baseUrl !== null) return undefined;
  const dir = await resolveModelDir(teacher.model, { ...options, withWeights: false, setting: 'teacher.model' });
  return await readModelConfig(dir);
}
