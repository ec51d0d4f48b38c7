import {
  BackboneError,
  ConfigError,
  truncationOf,
  type Algorithm,
  type Backbone,
  type CommonConfig,
  type Teacher,
} from '@agentjet/core';
import type { BackboneEntry } from '@agentjet/inputs';
import type { JobListener } from '@agentjet/records';
import { findTeacher } from './describe-teacher.js';
import { resolveModelDir } from './model-dir.js';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import { openBackbone } from './open-backbone.js';
import { openServedTeacher } from './open-served-teacher.js';

export type OpenTeacherOptions = {
  readonly algorithm: Pick<Algorithm, 'name' | 'needsTeacher'>;
  readonly backbone: BackboneEntry;
  /** The folder of the student. */
  readonly modelDir: string;
  /** The tokenizer of the student. */
  readonly chatTokenizer: Pick<ChatTokenizer, 'tokenizer'>;
  readonly emit: JobListener;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Opens the model that scores the samples: `teacher.model` if the algorithm needs a teacher, or the initial model for
 * KL in the reward. Rejects with ConfigError `conflict` if another setting excludes a teacher, with BackboneError
 * `bad_model_files`, `other_vocabulary` or `teacher_too_short`, or with the errors of `resolveModelDir` and the backbone.
 */
export async function openTeacher(config: CommonConfig, options: OpenTeacherOptions): Promise<Teacher | undefined> {
  const { algorithm, modelDir, chatTokenizer, emit, signal } = options;
  const { model, baseUrl } = config.teacher;
  const isTaught = algorithm.needsTeacher === true && model !== null;
  if (!isTaught && !config.trainerCommon.algorithm.useKlInReward) return undefined;
  requireWholeDistribution(config);
  if (!isTaught) return await openLocalTeacher(config, { ...options, teacherDir: modelDir });
  const onNotice = (message: string): void => emit({ type: 'notice', message });
  if (baseUrl !== null)
    return await openServedTeacher(config, { model, baseUrl }, { ...chatTokenizer, onNotice, signal });
  await findTeacher(config, model, { modelDir, signal, onNotice });
  const teacherDir = await resolveModelDir(model, { signal, onNotice, setting: 'teacher.model' });
  return await openLocalTeacher(config, { ...options, teacherDir });
}

/** Throws for top-p or top-k: the KL estimate is right only if tokens were drawn from the whole distribution. */
function requireWholeDistribution({ rollout }: CommonConfig): void {
  if (truncationOf(rollout) === undefined) return;
  throw new ConfigError(
    'conflict',
    `"rollout.top_p" is ${rollout.topP} and "rollout.top_k" is ${rollout.topK}, and a teacher scores tokens under its whole distribution. Set rollout.top_p to 1 and rollout.top_k to -1.`,
  );
}

/** Opens the teacher on this machine, without an adapter or a sampling server, because it only scores tokens. */
async function openLocalTeacher(
  config: CommonConfig,
  { backbone: entry, emit, signal, teacherDir }: OpenTeacherOptions & { readonly teacherDir: string },
): Promise<Teacher> {
  const { model, lora, rollout } = config;
  if (entry.readsWeights === false) throw unsupported(entry.name, 'the weights of its models are on a server');
  const own = {
    ...config,
    model: { ...model, path: teacherDir },
    lora: { ...lora, rank: 0, adapter: null },
    rollout: { ...rollout, name: 'builtin' as const },
  };
  const backbone = await openBackbone(entry, own, { emit, modelDir: teacherDir, signal });
  if (backbone.termLogprobs !== undefined) return toTeacher(backbone, backbone.termLogprobs.bind(backbone));
  await backbone.close();
  throw unsupported(entry.name, 'it does not score packs');
}

function unsupported(backbone: string, reason: string): BackboneError {
  return new BackboneError(
    'unsupported_teacher',
    `The backbone ${backbone} cannot open a model that only scores (a teacher, or the initial model of use_kl_in_reward), because ${reason}. Use backbone onnx or torch, or a served teacher (teacher.base_url).`,
  );
}

function toTeacher(backbone: Backbone, termLogprobs: Teacher['termLogprobs']): Teacher {
  const { capabilities, gone } = backbone;
  const named = new AbortController();
  gone?.addEventListener('abort', () => named.abort(nameTeacher(gone.reason)), { once: true });
  return {
    takes: capabilities.takes,
    termLogprobs: async (packs, temperature) => {
      try {
        return await termLogprobs(packs, temperature);
      } catch (error) {
        throw nameTeacher(error);
      }
    },
    ...(gone && { gone: named.signal }),
    close: () => backbone.close(),
  };
}

/** Says which of two models failed, because the student's errors have the same words. */
function nameTeacher(error: unknown): unknown {
  if (!(error instanceof BackboneError)) return error;
  const message = `The model that scores the samples (teacher.model, or the initial model with use_kl_in_reward) failed. ${error.message}`;
  return new BackboneError(error.code, message, { cause: error });
}
