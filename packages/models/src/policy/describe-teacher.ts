import { BackboneError, quoteForShell, type CommonConfig, type JsonObject } from '@agentjet/core';
import { readBaseModel } from '@agentjet/trainer';
import { resolveModelDir, type ModelDirOptions } from './model-dir.js';
import { readDescription } from './read-description.js';

type FindOptions = Pick<ModelDirOptions, 'signal' | 'onNotice'>;

/**
 * Returns config.json of the model that scores the samples: a teacher, or the initial model for KL in the reward.
 * Returns undefined if this machine opens no such model. Downloads only small files. Rejects with BackboneError
 * `bad_model_files` if the teacher is not a whole model.
 */
export async function describeTeacher(
  { teacher, model, trainerCommon }: CommonConfig,
  options: FindOptions,
): Promise<JsonObject | undefined> {
  if (trainerCommon.algorithm.useKlInReward)
    return await readDescription(await resolveModelDir(model.path, { ...options, withWeights: false }));
  if (teacher.model === null || teacher.baseUrl !== null) return undefined;
  return (await findTeacher(teacher.model, options)).description;
}

/** Returns the folder of `teacher.model` and its config.json. The weights may be missing. */
export async function findTeacher(
  model: string,
  options: FindOptions,
): Promise<{ readonly dir: string; readonly description: JsonObject }> {
  const dir = await resolveModelDir(model, { ...options, withWeights: false, setting: 'teacher.model' });
  const base = await readBaseModel(dir);
  if (base !== undefined)
    throw new BackboneError(
      'bad_model_files',
      `teacher.model ${model} is an adapter (LoRA) of ${base}, and a teacher is a whole model. Merge the two with \`ajet export ${quoteForShell(model)} <new folder>\`, and set teacher.model to the new folder.`,
    );
  return { dir, description: await readDescription(dir, 'teacher.model') };
}
