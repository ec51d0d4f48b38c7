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
  temperature,
  text,
  topK,
  topP,
} from './ranges.js';
import { debug, model, optim, sftSection } from './sections.js';
import { setting } from './setting.js';
import { swarm } from './swarm-schema.js';

/**
 * The sections that are always there. What a backbone, a task reader, a judge or an algorithm adds is in its own
 * registration and is put in its place by `composeConfig`. `null` marks what may be left open. Upper limits are far above
 * what anybody has used: they catch a number with too many zeros before it takes the machine down.
 */

const leavesItsFolder = /^([/\\]|[A-Za-z]:)|(^|[/\\])\.\.([/\\]|$)/;
const folderName = text.refine((name) => !leavesItsFolder.test(name), {
  message: 'a folder name below experiment_dir, without ".." and not absolute',
});

const data = z.strictObject({
  train_batch_size: setting(
    count(65_536),
    16,
    'tasks per step, at most as many as there are; each is run rollout.num_repeat times',
  ),
  max_prompt_length: setting(
    count(numTokens),
    1024,
    'max_prompt_length + max_response_length: most tokens in one trained sample',
  ),
  max_response_length: setting(count(numTokens), 1024),
  overlong_sample_policy: setting(
    z.enum(['error', 'drop_episode', 'truncate']),
    'error',
    'a sample over that limit: error | drop_episode | truncate (its end); counted in the metrics',
  ),
});

const rollout = z.strictObject({
  user_workflow: setting(
    text.nullable(),
    null,
    'path/file.ts->Export: a Workflow class, or a function (task, tuner) => output',
    { path: 'module' },
  ),
  num_repeat: setting(count(4096), 8, 'episodes per task: the group whose rewards are compared'),
  max_env_worker: setting(count(65_536), 64, 'episodes that run at the same time'),
  temperature: setting(temperature, 1, 'sampling while training; 0 takes the likeliest token, which explores nothing'),
  top_p: setting(
    topP,
    1,
    'sampling while training; below 1, the loss, its entropy and its KL are computed over the tokens that top_p and top_k keep, which needs the backbone onnx or torch',
  ),
  top_k: setting(topK, -1, '-1 keeps all; trained in the same way as top_p'),
  request_sampling: setting(
    z.enum(['ignore', 'honour']),
    'ignore',
    'temperature, top_p, top_k and seed of a request whose agent is trained. ignore: these settings decide | honour: the request decides; tokens that it samples with another top_p or top_k are then not trained',
  ),
  max_model_len: setting(
    z.int().min(2).max(numTokens),
    2048,
    'most tokens of prompt and answer together, at most what the model allows',
  ),
  max_response_length_in_one_turn: setting(count(numTokens), 256, 'most tokens of one answer'),
  multi_turn: z.strictObject({
    max_steps: setting(
      count(1_000_000).nullable(),
      null,
      'most model calls of one episode; a further call fails the episode. null: no limit',
    ),
  }),
  val_kwargs: z
    .strictObject({
      temperature: setting(temperature, 0),
      top_p: setting(topP, 1),
      top_k: setting(topK, -1),
    })
    .describe('sampling while evaluating'),
  untrained_models: setting(
    z.array(text),
    ['*:untrained'],
    "calls that ask for a model of such a name are answered and not trained: titles, summaries, e.g. ['*haiku*']",
  ),
  special_tokens_in_text: setting(
    z.enum(['split', 'as_template', 'refuse']),
    'split',
    'special tokens, such as <|im_end|>, in text of users and tools: split (into plain text) | as_template (they can forge turns) | refuse (an error); counted',
  ),
  episode_timeout: setting(positive.max(mostSeconds), 300, 'seconds; a longer episode is aborted and counts as failed'),
  failed_episode_policy: setting(
    z.enum(['partial_group', 'drop_group', 'zero_reward']),
    'partial_group',
    'an episode whose agent throws or times out: partial_group (train its siblings) | drop_group (train nothing of its task) | zero_reward',
  ),
  min_group_share: setting(
    z.number().gt(0).max(1),
    0.5,
    "partial_group: the share of a task's episodes, and at least two, that must be left",
  ),
  refill_groups: setting(
    countOrZero(65_536),
    0,
    'at most so many further tasks per step are drawn in place of those whose episodes all got the same reward; counted in the metrics',
  ),
  max_attempts: setting(
    count(1000),
    3,
    'an episode that the world lost (connection, quota, service) is run again with the same seed; so often at most',
  ),
  max_outage: setting(
    positive.max(mostSeconds).nullable(),
    1800,
    'seconds; a longer outage ends the run with a checkpoint; null: wait for ever',
  ),
  straggler_patience: setting(
    positive.max(mostSeconds).nullable(),
    null,
    'seconds that the last groups of a step may take longer than half of its groups; then they are given up, and counted in stale_episodes. This favours short episodes. null: never, episode_timeout alone ends an episode',
  ),
  score_patience: setting(
    positive.max(mostSeconds).nullable(),
    null,
    'seconds that an episode waits for a judge that cannot be reached; null: as max_outage',
  ),
  record: setting(
    z.boolean(),
    true,
    'every finished episode is kept on the disk until a checkpoint covers it: after a crash --resume makes the steps since the checkpoint again without sampling them again',
  ),
  workflow_processes: setting(
    countOrZero(1024),
    0,
    'processes that run the workflows and their judge, so that one that blocks, crashes or leaks costs its own episodes only; 0: they run in this process',
  ),
  group_patience: setting(
    positive.max(mostSeconds),
    1800,
    'swarm: seconds from the first claim of a task until its episodes that are still missing are given up',
  ),
  oversubscribe: setting(
    z.number().min(1).max(16),
    1,
    'swarm: groups that are sampled at a time, as a multiple of a batch; above 1 only with max_staleness',
  ),
  name: setting(
    z.enum(['builtin', 'vllm']),
    'builtin',
    'torch only: builtin | vllm, which must be installed, and is faster',
  ),
  max_num_seqs: setting(
    count(65_536).nullable(),
    null,
    'torch only: answers sampled at once per GPU; null: the sampler decides',
  ),
  gpu_memory_utilization: setting(
    z.number().gt(0).max(1).nullable(),
    null,
    'torch with vllm: its share of a GPU; null: 0.45 next to the trainer, 0.9 on separate GPUs',
  ),
  num_replicas: setting(
    count(1024),
    1,
    'torch with vllm: servers on each node; an episode stays with one, and what a failed one was asked goes to another',
  ),
  tensor_model_parallel_size: setting(count(1024), 1, 'torch with vllm: GPUs that each server runs on'),
  colocated: setting(
    z.boolean(),
    true,
    "torch with vllm: on the trainer's first GPUs; false: on those after the trainer's",
  ),
});

const logger = z.enum(['console', 'tensorboard', 'wandb', 'swanlab']);

const trainerCommon = z.strictObject({
  total_epochs: setting(count(numSteps), 1, 'passes over the training tasks'),
  total_training_steps: setting(
    count(numSteps).nullable(),
    null,
    'ends sooner, or goes on over further epochs, when set',
  ),
  save_freq: setting(
    countOrZero(numSteps),
    20,
    'steps between checkpoints; 0: only at the end, and when swarm.recovery_budget asks for one',
  ),
  test_freq: setting(
    countOrZero(numSteps),
    0,
    'steps between evaluations, if there are evaluation tasks; 0: only before and after training',
  ),
  val_before_train: setting(
    z.boolean(),
    true,
    'evaluate before training; false together with test_freq 0 turns evaluation off',
  ),
  evaluation_patience: setting(
    positive.max(mostSeconds),
    600,
    'swarm: seconds that the next step waits for the episodes of an evaluation',
  ),
  val_pass_n: setting(
    count(4096),
    1,
    'episodes per evaluation task; with several: pass@n, all-pass and the mean are reported',
  ),
  keep_best: setting(
    text.nullable(),
    null,
    'a figure of the evaluations, such as success_rate: the checkpoint in which it was highest is kept, and named in checkpoints/best',
  ),
  logger: setting(
    z.union([logger, z.array(logger).min(1)]),
    'console',
    'where figures go in addition to the run folder, one name or a list: console | tensorboard | wandb | swanlab',
  ),
  max_checkpoints: setting(countOrZero(numSteps), 3, 'newest checkpoints to keep; 0 keeps all'),
  n_gpus_per_node: setting(count(1024), 1, 'torch only'),
  mini_batch_num: setting(
    count(65_536),
    1,
    'optimizer steps a batch is divided into; with 1 training stays exactly on-policy',
  ),
  ppo_epochs: setting(count(1000), 1, 'passes over a batch'),
  seed: setting(
    seed,
    42,
    "of everything random: tasks, sampling, agents' tuner seeds. onnx: the same seed, the same metrics, with as many threads on one processor, if every step is on-policy",
  ),
  algorithm: z.strictObject({
    whiten_advantages: setting(
      z.boolean(),
      false,
      'advantages to mean 0 and deviation 1 over all trained tokens of a batch: REINFORCE++',
    ),
    gamma: setting(share, 1, 'grpo, reinforce, maxrl: what a reward is worth one turn of its agent earlier'),
  }),
  max_empty_steps: setting(
    count(numSteps).nullable(),
    3,
    'so many steps in a row that trained nothing end the run with a checkpoint, unless the policy has learned and is sure of each task; null: never',
  ),
  max_staleness: setting(
    countOrZero(1000),
    0,
    '0: on-policy | k: sampling runs ahead of training by at most k versions of the weights, of which each optimizer step makes one; a step waits for the long episodes of its batch, so nothing is left out for its age',
  ),
  loss_mode: setting(
    z.enum(['ppo', 'gspo', 'cispo', 'reinforce']),
    'ppo',
    'ppo | gspo (wants a clip range near 0.0003) | cispo | reinforce; onnx has ppo',
  ),
  tis_cap: setting(
    offOrFrom(1),
    0,
    'torch and tinker: limit of the importance weight between trainer and sampler, 2 is usual; the ratio is then taken against the weights that the batch began with. 0: off',
  ),
  use_kl_loss: setting(
    z.boolean(),
    false,
    'keep near the initial model; a group whose rewards are all equal is skipped, and has no KL term either',
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
    "PPO's clip range. Exactly on-policy nothing is clipped: see mini_batch_num, ppo_epochs, max_staleness",
  ),
  clip_ratio_high: setting(notNegative, 0.2, "0.28 is DAPO's clip-higher"),
  clip_ratio_c: setting(offOrAbove(1), 3, 'dual clip for negative advantages, more than 1; 0: off'),
  entropy_coeff: setting(
    notNegative,
    0,
    'weight of the entropy, which the loss raises; a group whose rewards are all equal is skipped and has no such term',
  ),
  loss_agg_mode: setting(
    z.enum(['token-mean', 'seq-mean-token-mean', 'seq-mean-token-sum-norm']),
    'token-mean',
    'token-mean: every trained token counts the same | seq-mean-token-mean: every episode does | seq-mean-token-sum-norm: sums of episodes, divided by a constant length (Dr. GRPO)',
  ),
  loss_scale_factor: setting(
    count(numTokens).nullable(),
    null,
    'that length, in tokens; null: data.max_response_length',
  ),
  loss_weighting: setting(
    z.enum(['episode', 'row']),
    'episode',
    'a token that is in several samples of an episode: episode trains it once | row in each',
  ),
  max_pack_tokens: setting(z.int().min(2).max(numTokens), 4096, 'most tokens in one forward pass'),
  optim,
});

/** The common sections in the order of the manual; the name of each kind and the registered sections are added in between. */
export const commonSections = {
  project_name: setting(text, 'agentjet'),
  experiment_name: setting(folderName, 'experiment', 'a run is written to <experiment_dir>/<experiment_name>/<time>/'),
  experiment_dir: setting(text, 'saved_experiments', 'in the working directory', { path: 'output' }),
  model,
  trainable_targets: setting(
    z.array(text).min(1).nullable(),
    null,
    "list of target tags that learn, e.g. [werewolf]; null: all do. Overrides the workflow's own",
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
          'a task is kept if its share of solved episodes is above this; null: no limit',
        ),
        solved_below: setting(z.number().min(0).max(1).nullable(), 1, 'and below this; null: no limit'),
      })
      .describe(
        'before training begins: tasks that the model solves always or never are left out; what is found is kept in task-probe.jsonl',
      ),
    shuffle: setting(z.boolean(), true, 'training tasks in a new order each epoch, by trainer_common.seed'),
  }),
  task_judge: z.strictObject({}),
  environment: z
    .strictObject({
      max_sessions: setting(count(65_536), 64, 'sessions at the same time; further ones wait'),
      open_timeout: setting(
        positive.max(mostSeconds),
        120,
        'seconds to open a session, the wait for a free one included; then the attempt is lost and made again',
      ),
      call_timeout: setting(
        positive.max(mostSeconds),
        60,
        'seconds for one step, tool call or evaluation; then the session is lost and the attempt made again',
      ),
    })
    .describe('the world that tuner.openEnvironment(task) opens a session of'),
  context_tracker: z.strictObject({
    history_policy: setting(
      z.enum(['as_generated', 'as_sent']),
      'as_generated',
      'as_generated: turns the model wrote keep their own tokens | as_sent: what a framework sends is what the model sees',
    ),
  }),
  trainer_common: trainerCommon,
  lora: z
    .strictObject({
      rank: setting(countOrZero(65_536), 0, '0: all weights are trained'),
      alpha: setting(positive, 16),
      target_modules: setting(
        z.union([z.literal('all-linear'), z.array(text).min(1)]).nullable(),
        null,
        'null: the projections of attention and MLP, as Qwen, Llama and Mistral name them | all-linear: all linear layers but the head, as in PEFT',
      ),
    })
    .describe('torch only'),
  swarm,
  sft: sftSection,
  debug,
};
