import { isJsonObject, valueAtPath } from '@agentjet/core';
import { parse } from 'yaml';
import type { ExaminedSettings } from '../examined-run.js';

/** Reads single keys of config.yaml, because a run may have sections that only an external package knows. */
export function readExaminedSettings(configYaml: string): ExaminedSettings {
  const parsed: unknown = parse(configYaml);
  const config = isJsonObject(parsed) ? parsed['ajet'] : undefined;
  const at = (path: string): unknown => valueAtPath(config, path.split('.'));
  const numbers = {
    groupSize: at('rollout.num_repeat'),
    temperature: at('rollout.temperature'),
    topP: at('rollout.top_p'),
    topK: at('rollout.top_k'),
    rate: at('trainer_common.optim.lr'),
    answerLimit: at('rollout.max_response_length_in_one_turn'),
    contextLimit: at('rollout.max_model_len'),
    klCoefficient: at('trainer_common.kl_loss_coef'),
    entropyCoefficient: at('trainer_common.entropy_coeff'),
    clip: at('trainer_common.clip_ratio_high'),
  };
  const texts = { judge: at('task_judge.judge_type') };
  const usesKl = at('trainer_common.use_kl_loss');
  const updates = ['mini_batch_num', 'ppo_epochs'].map((key) => at(`trainer_common.${key}`));
  const staleness = at('trainer_common.max_staleness');
  return {
    ...pick(numbers, (value) => typeof value === 'number'),
    ...pick(texts, (value) => typeof value === 'string'),
    ...(typeof usesKl === 'boolean' && { usesKl }),
    trainsStale:
      updates.some((count) => typeof count === 'number' && count > 1) ||
      (typeof staleness === 'number' && staleness > 0),
  };
}

function pick(values: Readonly<Record<string, unknown>>, isKept: (value: unknown) => boolean): object {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => isKept(value)));
}
