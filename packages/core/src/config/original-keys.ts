import { ConfigError } from '../errors.js';
import { isJsonObject, type JsonObject } from '../json-object.js';
import type { ConfigSource } from './config-source.js';
import { valueAtKey } from './presets.js';

/**
 * Some keys of the Python AgentJet do not exist here, but their values can be honoured: another key does the same, or
 * the value asks for the default behaviour. A key whose value cannot be honoured stays as it is, and `retired-keys.ts`
 * has advice for it.
 */

type Assignment = readonly [key: string, value: unknown];

/** Returns the settings that replace the value: an empty list if it asks for nothing special, undefined if it cannot be honoured. */
type Accept = (value: unknown) => readonly Assignment[] | undefined;

const only =
  (...values: readonly unknown[]): Accept =>
  (value) =>
    values.includes(value) ? [] : undefined;
const anyNumber: Accept = (value) => (typeof value === 'number' ? [] : undefined);
const anyBoolean = only(true, false);
const as =
  (...keys: readonly string[]): Accept =>
  (value) =>
    keys.map((key) => [key, value] as const);

/** Accepts equal values for weights and optimizer states, because the torch backbone moves them together. */
const offload: Accept = (value) => {
  if (!isJsonObject(value)) return undefined;
  const { param_offload: weights = false, optimizer_offload: states = false, ...others } = value;
  if (Object.keys(others).length > 0 || typeof weights !== 'boolean' || weights !== states) return undefined;
  return [['torch.cpu_offload', weights]];
};

const original: Readonly<Record<string, Accept>> = {
  'rollout.n_vllm_engine': only(1),
  'rollout.gamma': as('trainer_common.algorithm.gamma'),
  'rollout.force_disable_toolcalls': only(false),
  'rollout.enable_oversample': only(false),
  'rollout.agent_madness_termination': only(false),
  'context_tracker.fix_retokenization_drift': only(true),
  'context_tracker.detect_timeline_snap': anyBoolean,
  'context_tracker.log_tool_format_check': anyBoolean,
  'task_reader.env_service.env_action_preference': () => [], // the original does not read it
  'context_tracker.log_tool_format_error_detail': anyBoolean,
  'trainer_common.nnodes': only(1),
  'trainer_common.loss_extra_scale_ratio': only(1),
  'trainer_common.ulysses_sequence_parallel_size': only(1),
  'trainer_common.optim.optimizer': only('AdamW'),
  'trainer_common.optim.optimizer_impl': only('torch.optim'),
  'trainer_common.optim.total_training_steps': only(-1),
  'lora.lora_rank': as('lora.rank'),
  'lora.lora_alpha': as('lora.alpha'),
  enable_swarm_mode: only(false),
  enable_interchange_server: anyBoolean,
  'trainer_common.val_only': only(false),
  'trainer_common.save_trajectory_as_json_file': anyBoolean,
  'trainer_common.fsdp_config': offload,
  'trainer_common.optim.clip_grad': as('trainer_common.optim.grad_clip'),
  'trainer_common.clip_ratio': as('trainer_common.clip_ratio_low', 'trainer_common.clip_ratio_high'),
  swarm_mode_sample_collection_method: as('swarm.sample_collection'),
  swarm_mode: anyBoolean,
  'debug.debug_vllm_port': anyNumber,
  'debug.debug_vllm_seed': as('debug.seed'),
  'debug.debug_tensor_parallel_size': anyNumber,
};

/** Returns `values` with one key set, or removed if `value` is undefined. */
function withKey(values: JsonObject, path: readonly string[], value: unknown): JsonObject {
  const [first = '', ...rest] = path;
  const inner = values[first];
  const changed = rest.length === 0 ? value : withKey(isJsonObject(inner) ? inner : {}, rest, value);
  const { [first]: _, ...others } = values;
  return changed === undefined ? others : { ...others, [first]: changed };
}

function assign(source: ConfigSource, from: string, [key, value]: Assignment): ConfigSource {
  const given = valueAtKey(source.values, key);
  if (given !== undefined && given !== value)
    throw new ConfigError(
      'conflict',
      `"${from}" in ${source.locate(from)} and "${key}" in ${source.locate(key)} set the same thing to ${JSON.stringify(value)} and ${JSON.stringify(given)}. Keep "${key}".`,
    );
  return {
    values: withKey(source.values, key.split('.'), value),
    locate: (asked) => source.locate(asked === key ? from : asked),
  };
}

/** Returns the source with the keys of this configuration. `isKnown` decides whether the composition has a key; only known keys are assigned. */
export function acceptOriginalKeys(given: ConfigSource, isKnown: (key: string) => boolean): ConfigSource {
  return Object.entries(original).reduce((source, [key, accept]) => {
    const value = valueAtKey(source.values, key);
    const assignments = value === undefined || isKnown(key) ? undefined : accept(value);
    if (assignments === undefined || !assignments.every(([target]) => isKnown(target))) return source;
    const without = { ...source, values: withKey(source.values, key.split('.'), undefined) };
    return assignments.reduce((changed, assignment) => assign(changed, key, assignment), without);
  }, given);
}
