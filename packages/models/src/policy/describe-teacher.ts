import { BackboneError, quoteForShell, type CommonConfig, type JsonObject } from '@agentjet/core';
import { readBaseModel } from '@agentjet/trainer';
import { resolveModelDir, type ModelDirOptions } from './model-dir.js';
import { readDescription } from './read-description.js';
import { requireSameVocabulary } from './same-vocabulary.js';

type FindOptions = Pick<ModelDirOptions, 'signal' | 'onNotice'> & {
  /** The folder of the student (`model.path`). */
  readonly modelDir: string;
};

/**
 * Returns config.json of the model that scores the samples: a teacher, or the initial model for KL in the reward.
 * Returns undefined if this machine opens no such model. Downloads only small files. Rejects as `findTeacher` does.
 */
export async function describeTeacher(config: CommonConfig, options: FindOptions): Promise<JsonObject | undefined> {
  const { teacher, trainerCommon } = config;
  if (trainerCommon.algorithm.useKlInReward) return await readDescription(options.modelDir);
  if (teacher.model === null || teacher.baseUrl !== null) return undefined;
  return await findTeacher(config, teacher.model, options);
}

/**
 * Returns config.json of `teacher.model`. Downloads only small files. Rejects with BackboneError `bad_model_files` if it
 * is not a whole model, with `other_vocabulary`, or with `teacher_too_short`.
 */
export async function findTeacher(
  config: CommonConfig,
  model: string,
  { modelDir, ...options }: FindOptions,
): Promise<JsonObject> {
  const dir = await resolveModelDir(model, { ...options, withWeights: false, setting: 'teacher.model' });
  const base = await readBaseModel(dir);
  if (base !== undefined)
    throw new BackboneError(
      'bad_model_files',
      `teacher.model ${model} is an adapter (LoRA) of ${base}, and a teacher is a whole model. Merge the two with \`ajet export ${quoteForShell(model)} <new folder>\`, and set teacher.model to the new folder.`,
    );
  const description = await readDescription(dir, 'teacher.model');
  await requireSameVocabulary({ name: config.model.path, dir: modelDir }, { name: model, dir });
  requireContext(config, description);
  return description;
}

/** Throws if the teacher was made for shorter contexts than the student's. */
function requireContext({ rollout, data, teacher }: CommonConfig, description: JsonObject): void {
  const most = description['max_position_embeddings'];
  const needed = Math.min(rollout.maxModelLen, data.maxPromptLength + data.maxResponseLength);
  if (typeof most !== 'number' || most >= needed) return;
  throw new BackboneError(
    'teacher_too_short',
    `Samples may have ${needed} tokens (data.max_prompt_length + data.max_response_length), and the teacher ${teacher.model} reads at most ${most}. Lower these limits, or choose another teacher.`,
  );
}
