import { z } from 'zod';
import type { CamelKeys } from './key-names.js';

/**
 * Everything that stands under `ajet:` in a YAML file. `default.yaml` gives every key a value and explains it, so
 * nothing here is optional; `null` marks what may be left open.
 */

const count = z.int().min(1);
const countOrZero = z.int().min(0);
const positive = z.number().positive();
const notNegative = z.number().min(0);
const share = z.number().min(0).max(1);
const seed = z.int().min(0).max(0xffffffff);
const topK = z.int().min(-1);
const topP = z.number().gt(0).max(1);
const text = z.string().min(1);

const data = z.strictObject({
  train_batch_size: count,
  max_prompt_length: count,
  max_response_length: count,
  overlong_sample_policy: z.enum(['error', 'drop_episode', 'truncate']),
});

const rollout = z.strictObject({
  user_workflow: text.nullable(),
  num_repeat: count,
  max_env_worker: count,
  temperature: notNegative,
  top_p: topP,
  top_k: topK,
  max_model_len: z.int().min(2),
  max_response_length_in_one_turn: count,
  multi_turn: z.strictObject({ max_steps: count.nullable() }),
  val_kwargs: z.strictObject({ temperature: notNegative, top_p: topP, top_k: topK }),
  untrained_models: z.array(text),
  episode_timeout: positive,
  failed_episode_policy: z.enum(['drop_group', 'zero_reward']),
  name: z.enum(['builtin', 'vllm']),
  max_num_seqs: count.nullable(),
  gpu_memory_utilization: z.number().gt(0).max(1).nullable(),
  tensor_model_parallel_size: count,
  colocated: z.boolean(),
});

const taskReader = z.strictObject({
  type: z.enum(['jsonl_dataset_file', 'customized_protocol', 'random_dummy']),
  jsonl_dataset_file: z.strictObject({
    training: z.strictObject({ file_path: text.nullable() }),
    validation: z.strictObject({ file_path: text.nullable() }),
  }),
  reader_protocol: text.nullable(),
  random_dummy: z.strictObject({
    training: z.strictObject({ num_tasks: count }),
    validation: z.strictObject({ num_tasks: countOrZero }),
  }),
  shuffle: z.boolean(),
});

const optim = z.strictObject({
  lr: notNegative,
  betas: z.tuple([share, share]),
  eps: positive,
  weight_decay: notNegative,
  grad_clip: notNegative,
  lr_scheduler_type: z.enum(['constant', 'linear', 'cosine']),
  lr_warmup_steps: countOrZero,
});

const trainerCommon = z.strictObject({
  total_epochs: count,
  total_training_steps: count.nullable(),
  save_freq: countOrZero,
  test_freq: countOrZero,
  val_before_train: z.boolean(),
  val_pass_n: count,
  max_checkpoints: countOrZero,
  n_gpus_per_node: count,
  mini_batch_num: count,
  ppo_epochs: count,
  seed,
  algorithm: z.strictObject({
    adv_estimator: z.enum(['grpo', 'reinforce', 'sft']),
    norm_adv_by_std_in_grpo: z.boolean(),
    reinforce_baseline: z.enum(['none', 'group', 'batch']),
    whiten_advantages: z.boolean(),
    gamma: share,
  }),
  max_staleness: countOrZero,
  loss_mode: z.enum(['ppo', 'gspo', 'cispo', 'reinforce']),
  tis_cap: notNegative,
  use_kl_loss: z.boolean(),
  kl_loss_coef: notNegative,
  kl_loss_type: z.enum(['low_var_kl', 'kl', 'mse', 'k1', 'k2', 'k3']),
  clip_ratio_low: notNegative,
  clip_ratio_high: notNegative,
  clip_ratio_c: notNegative,
  entropy_coeff: notNegative,
  loss_agg_mode: z.enum(['token-mean', 'seq-mean-token-mean', 'seq-mean-token-sum-norm']),
  loss_scale_factor: count.nullable(),
  loss_weighting: z.enum(['episode', 'row']),
  max_pack_tokens: z.int().min(2),
  optim,
});

export const configSchema = z.strictObject({
  project_name: text,
  experiment_name: text,
  experiment_dir: text,
  backbone: z.enum(['onnx', 'torch', 'debug']),
  model: z.strictObject({ path: text }),
  trainable_targets: z.array(text).min(1).nullable(),
  data,
  rollout,
  task_reader: taskReader,
  task_judge: z.strictObject({ judge_type: z.enum(['customized_protocol']), judge_protocol: text.nullable() }),
  context_tracker: z.strictObject({ history_policy: z.enum(['as_generated', 'as_sent']) }),
  trainer_common: trainerCommon,
  lora: z.strictObject({ rank: countOrZero, alpha: positive, target_modules: z.array(text).min(1).nullable() }),
  onnx: z.strictObject({ num_threads: countOrZero }),
  torch: z.strictObject({
    python: text.nullable(),
    dtype: z.enum(['auto', 'bfloat16', 'float32', 'float64']),
    attention: z.enum(['auto', 'dense', 'flex', 'rows', 'flash4']),
    compile: z.enum(['auto', 'on', 'off']),
    activation_checkpointing: z.boolean(),
    activation_budget: share,
    cpu_offload: z.boolean(),
    reshard: z.enum(['auto', 'always', 'never']),
    cuda_graphs: z.boolean(),
    listen_host: text,
    token: text.nullable(),
  }),
  debug: z.strictObject({
    debug_max_parallel: count,
    debug_first_n_tasks: count,
    seed,
    base_url: text.nullable(),
    api_key: text.nullable(),
    model: text.nullable(),
  }),
});

/** What stands under `ajet:`, with the YAML's own key names. */
export type ConfigYaml = z.infer<typeof configSchema>;

/** The resolved configuration of a run: every key has a value, paths are absolute. */
export type AgentJetConfig = CamelKeys<ConfigYaml>;

type PartialKeys<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]?: PartialKeys<Value[Key]> }
    : Value;

/** Some of the configuration, as code gives it; the rest comes from `default.yaml`. */
export type ConfigInput = PartialKeys<AgentJetConfig>;

function collectKeys(schema: z.ZodType, prefix: string): readonly string[] {
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([key, inner]) => [
    `${prefix}${key}`,
    ...collectKeys(inner as z.ZodType, `${prefix}${key}.`),
  ]);
}

/** Every key as a dotted path, sections included. */
export const knownKeys: readonly string[] = collectKeys(configSchema, '');
