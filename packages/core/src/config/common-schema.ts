import { z } from 'zod';
import {
  count,
  countOrZero,
  mostSeconds,
  notNegative,
  numSteps,
  numTokens,
  offOrAbove,
  offOrFrom,
  positive,
  seed,
  share,
  text,
} from './ranges.js';
import { data, debug, lora, model, optim, rollout, sftSection, teacher } from './sections.js';
import { setting } from './setting.js';
import { swarm } from './swarm-schema.js';

/**
 * The sections that every configuration has. A backbone, task reader, judge or algorithm brings its settings in its
 * registration, and `composeConfig` puts them in their place. `null` marks a setting that may be left open. Upper limits are
 * far above practical values: they catch a number with too many zeros before it exhausts the machine.
 */

const leavesItsFolder = /^([/\\]|[A-Za-z]:)|(^|[/\\])\.\.([/\\]|$)/;
const folderName = text.refine((name) => !leavesItsFolder.test(name), {
  message: 'a relative folder name below experiment_dir, without ".."',
});

const logger = z.enum(['console', 'tensorboard', 'wandb', 'swanlab', 'otlp']);

const trainerCommon = z.strictObject({
  total_epochs: setting(count(numSteps), 1, 'passes over the training tasks'),
  total_training_steps: setting(
    count(numSteps).nullable(),
    null,
    'optimizer steps of the run. null: total_epochs decides. A larger number adds epochs, a smaller one ends training early',
  ),
  save_freq: setting(
    countOrZero(numSteps),
    20,
    'steps between checkpoints. 0: only at the end, and if swarm.recovery_budget asks for one',
  ),
  test_freq: setting(
    countOrZero(numSteps),
    0,
    'steps between evaluations, if there are evaluation tasks. 0: only before and after training',
  ),
  val_before_train: setting(
    z.boolean(),
    true,
    'evaluate before training. false together with test_freq 0 turns evaluation off',
  ),
  evaluation_patience: setting(
    positive.max(mostSeconds),
    600,
    'swarm: seconds that the next step waits for the episodes of an evaluation',
  ),
  val_pass_n: setting(
    count(4096),
    1,
    'episodes per evaluation task. With several, pass@n, all-pass and the mean are reported',
  ),
  val_sampled: setting(
    countOrZero(4096),
    0,
    'further episodes per evaluation task, sampled with temperature, top_p and top_k of the training. Their success is reported as sampled_success_rate',
  ),
  report_by: setting(text.nullable(), 'kind', 'field of task metadata; success is reported by its values. null: off', {
    isPlain: true,
  }),
  record_tokens: setting(
    z.enum(['none', 'changed', 'all']),
    'changed',
    'tokens for which the run keeps what the trainer computed (logprob, entropy, ratio, clip), in annotations/. changed: tokens whose logprob differs by more than 0.1 from the sampled one, or whose gradient the clip removed',
  ),
  keep_best: setting(
    text.nullable(),
    null,
    'a metric of the evaluations, such as success_rate. The checkpoint with its highest value is kept, and checkpoints/best names it',
    { isPlain: true },
  ),
  logger: setting(
    z.union([logger, z.array(logger).min(1)]),
    'console',
    'where metrics are sent in addition to the run folder, one name or a list: console | tensorboard | wandb | swanlab | otlp: the episodes as traces of OpenTelemetry',
  ),
  trace_sample: setting(share, 1, 'share of the episodes whose traces the logger otlp sends; chosen by their ids'),
  max_checkpoints: setting(countOrZero(numSteps), 3, 'number of newest checkpoints to keep; 0 keeps all'),
  n_gpus_per_node: setting(count(1024), 1, 'torch only'),
  mini_batch_num: setting(
    count(65_536),
    1,
    'optimizer steps that a batch is divided into; with 1, training stays exactly on-policy',
  ),
  ppo_epochs: setting(count(1000), 1, 'passes over a batch'),
  seed: setting(
    seed,
    42,
    "seed of everything random: tasks, sampling, agents' tuner seeds. onnx: the same seed gives the same metrics with the same number of threads on the same processor, if every step is on-policy",
  ),
  algorithm: z.strictObject({
    whiten_advantages: setting(
      z.boolean(),
      false,
      'normalize advantages to mean 0 and deviation 1 over all trained tokens of a batch, as REINFORCE++ does',
    ),
    use_kl_in_reward: setting(
      z.boolean(),
      false,
      'subtract kl_coef times the KL from the initial model, summed over the tokens of an episode, from its reward. The initial model is opened a second time',
    ),
    kl_coef: setting(notNegative, 0.001, 'with use_kl_in_reward'),
    kl_penalty: setting(
      z.enum(['kl', 'mse', 'low_var_kl']),
      'kl',
      'the estimate: kl (k1) | mse (k2) | low_var_kl (k3)',
    ),
    gamma: setting(
      share,
      1,
      'grpo, reinforce, maxrl: discount of a reward, for each turn of its agent that came before it',
    ),
  }),
  max_empty_steps: setting(
    count(numSteps).nullable(),
    3,
    'the run ends with a checkpoint after this number of consecutive steps that train nothing, unless the policy has learned and is sure of each task. null: never',
  ),
  stop_on_collapse: setting(
    z.boolean(),
    false,
    'end the run with a checkpoint if the model collapses: success is under half of its best in two evaluations in a row, and entropy is under 5% of its start. false: only a notice',
  ),
  max_staleness: setting(
    countOrZero(1000),
    0,
    '0: on-policy | k: sampling runs ahead of training by at most k versions of the weights, and each optimizer step makes one version. A step waits for the long episodes of its batch, so no episode is dropped for its age',
  ),
  loss_mode: setting(
    z.enum(['ppo', 'gspo', 'cispo', 'reinforce']),
    'ppo',
    'ppo | gspo (needs a clip range near 0.0003) | cispo | reinforce. onnx and tinker compute the last three in two passes',
  ),
  tis_cap: setting(
    offOrFrom(1),
    0,
    'limit of the importance weight between trainer and sampler (TIS); 2 is usual. The ratio is then taken against the weights that the batch began with. 0: off',
  ),
  rollout_is_threshold: setting(
    offOrFrom(1),
    0,
    'the same with other ways to limit the weight, e.g. IcePop: 5 with rollout_is_mode mask and rollout_is_threshold_lower 0.5. 0: off',
  ),
  rollout_is_threshold_lower: setting(share, 0, 'lower limit of the weight'),
  rollout_is_mode: setting(
    z.enum(['truncate', 'mask']),
    'mask',
    'a weight outside of the limits: truncate (becomes the limit) | mask (the token is not trained: MIS, IcePop)',
  ),
  rollout_is_level: setting(
    z.enum(['token', 'sequence', 'geometric']),
    'token',
    'weight of a token | of a whole sample (product) | geometric (its geometric mean)',
  ),
  mask_truncated_completions: setting(
    z.boolean(),
    false,
    'do not train episodes with an answer that a token limit cut. Their rewards stay in the baseline (DAPO: overlong filtering)',
  ),
  overlong_buffer: z
    .strictObject({
      len: setting(
        countOrZero(numTokens),
        0,
        'tokens before rollout.max_response_length_in_one_turn in which the longest answer of an episode costs more and more. 0: off',
      ),
      penalty_factor: setting(notNegative, 1, 'the cost at the limit, which is subtracted from the reward'),
    })
    .describe('DAPO: soft overlong punishment'),
  use_kl_loss: setting(
    z.boolean(),
    false,
    'add a KL term that keeps the policy near the initial model. A group whose rewards are all equal is skipped and has no KL term',
  ),
  kl_loss_coef: setting(notNegative, 0.002, 'with use_kl_loss'),
  kl_loss_type: setting(
    z.enum(['low_var_kl', 'kl', 'mse', 'k1', 'k2', 'k3']),
    'low_var_kl',
    'low_var_kl (k3) | kl (k1) | mse (k2)',
  ),
  clip_ratio_low: setting(
    share,
    0.2,
    "PPO's clip range. Nothing is clipped on-policy: see mini_batch_num, ppo_epochs, max_staleness",
  ),
  clip_ratio_high: setting(notNegative, 0.2, "0.28 is DAPO's clip-higher"),
  clip_ratio_c: setting(offOrAbove(1), 3, 'dual clip for negative advantages, above 1; 0: off'),
  entropy_coeff: setting(
    notNegative,
    0,
    'weight of the entropy bonus. A group whose rewards are all equal is skipped and has no bonus',
  ),
  loss_agg_mode: setting(
    z.enum(['token-mean', 'seq-mean-token-mean', 'seq-mean-token-sum', 'seq-mean-token-sum-norm']),
    'token-mean',
    'token-mean: every trained token has the same weight | seq-mean-token-mean: every episode has the same weight | seq-mean-token-sum: the sum of each episode, so long ones count more and the gradient is larger | seq-mean-token-sum-norm: the sum of each episode is divided by a constant length (Dr. GRPO)',
  ),
  loss_scale_factor: setting(
    count(numTokens).nullable(),
    null,
    'the constant length of seq-mean-token-sum-norm, in tokens. null: data.max_response_length',
  ),
  loss_weighting: setting(
    z.enum(['episode', 'row']),
    'episode',
    'how often a token is trained if several samples of an episode contain it. episode: once | row: once in each sample',
  ),
  max_pack_tokens: setting(z.int().min(2).max(numTokens), 4096, 'maximum tokens of one forward pass'),
  optim,
});

/** The common sections in the order of the manual. The name of each kind and the registered sections are inserted between them. */
export const commonSections = {
  project_name: setting(text, 'agentjet', undefined, { isPlain: true }),
  experiment_name: setting(
    folderName,
    'experiment',
    'a run is written to <experiment_dir>/<experiment_name>/<time>/',
    { isPlain: true }, // folderName stays below experiment_dir
  ),
  experiment_dir: setting(text, 'saved_experiments', 'folder for runs, in the working directory', { path: 'output' }),
  model,
  trainable_targets: setting(
    z.array(text).min(1).nullable(),
    null,
    "list of target tags that are trained, e.g. [werewolf]. null: all are. It overrides the workflow's own list",
    { isPlain: true },
  ),
  data,
  rollout,
  task_reader: z.strictObject({
    difficulty: z
      .strictObject({
        samples: setting(z.int().min(0).max(64), 0, 'episodes of each training task; 0: no probe'),
        solved_above: setting(
          z.number().min(0).max(1).nullable(),
          0,
          'keep a task if its share of solved episodes is above this; null: no limit',
        ),
        solved_below: setting(
          z.number().min(0).max(1).nullable(),
          1,
          'keep a task if its share is below this; null: no limit',
        ),
      })
      .describe(
        'before training, leave out tasks that the model always or never solves. The results are kept in task-probe.jsonl',
      ),
    shuffle: setting(z.boolean(), true, 'shuffle training tasks in each epoch, seeded by trainer_common.seed'),
  }),
  task_judge: z.strictObject({}),
  environment: z
    .strictObject({
      max_sessions: setting(count(65_536), 64, 'maximum sessions at the same time; further ones wait'),
      open_timeout: setting(
        positive.max(mostSeconds),
        120,
        'seconds to open a session, including the wait for a free one. After that the attempt is lost and repeated',
      ),
      call_timeout: setting(
        positive.max(mostSeconds),
        60,
        'seconds for one step, tool call or evaluation. After that the session is lost and the attempt is repeated',
      ),
    })
    .describe('the environment in which tuner.openEnvironment(task) opens a session'),
  context_tracker: z.strictObject({
    history_policy: setting(
      z.enum(['as_generated', 'as_sent']),
      'as_generated',
      'as_generated: turns that the model wrote keep their own tokens | as_sent: the model sees exactly what a framework sends',
    ),
  }),
  trainer_common: trainerCommon,
  teacher,
  lora,
  swarm,
  sft: sftSection,
  debug,
};
