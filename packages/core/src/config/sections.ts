import { z } from 'zod';
import {
  count,
  countOrZero,
  mostSeconds,
  notNegative,
  numSteps,
  numTokens,
  positive,
  seed,
  share,
  temperature,
  text,
  topK,
  topP,
} from './ranges.js';
import { setting } from './setting.js';

/** Sections that every configuration has, next to those of `common-schema.ts`. */

const kwargs = z.record(z.string(), z.unknown());

/** Settings of the model, its chat template and its memory. */
export const model = z.strictObject({
  path: setting(
    text,
    'nano',
    'a folder in the Hugging Face layout; a GGUF file (llama, qwen2, qwen3), which is converted once; a model of the hub, e.g. Qwen/Qwen2.5-0.5B-Instruct (or name@revision); smollm2-135m, from the hub or a Python package index; or nano or micro, the tiny models of @agentjet/nano and @agentjet/micro',
    {
      path: 'model',
    },
  ),
  chat_template_kwargs: setting(
    kwargs,
    {},
    'variables of the chat template, e.g. { enable_thinking: false }. A request may override them; an export keeps them as defaults',
    { isPlain: true },
  ),
  agent_chat_template_kwargs: setting(
    z.array(z.strictObject({ agent: text, kwargs })),
    [],
    'variables for single agents, e.g. [{ agent: judge, kwargs: { enable_thinking: false } }]',
    { isPlain: true },
  ),
  tools: setting(
    z.enum(['auto', 'system', 'refuse']),
    'auto',
    'how the tools of a request reach the model. auto: the chat template prints them. If the template does not support tools, auto is the same as system | system: written into the system prompt, with calls in the form of Hermes; checkpoints and exports keep this template | refuse: a request with tools is an error if the template does not support them',
  ),
  tool_calls: setting(
    z.enum(['strict', 'lenient']),
    'strict',
    'strict: a tool call must have the tags of the chat template | lenient: an answer that consists only of calls to known tools, in bare JSON or in a fenced block, counts as calls too',
  ),
  memory_check: setting(
    z.enum(['refuse', 'warn']),
    'refuse',
    'what happens if a model needs more memory than the machine has: refuse (before the start) | warn. `ajet model check` shows the estimate',
  ),
});

/** The model that `adv_estimator: distill` learns from. */
export const teacher = z
  .strictObject({
    model: setting(
      text.nullable(),
      null,
      'a model with the vocabulary of model.path, named in the same way. With base_url: its name at the server',
      { path: 'model' },
    ),
    server: setting(
      z.enum(['vllm', 'tinker']),
      'vllm',
      'with base_url: vllm (completions with prompt_logprobs) | tinker (sampling with prompt logprobs)',
    ),
    base_url: setting(
      text.nullable(),
      null,
      'a server that gives the logprobs of a prompt, e.g. http://localhost:8000/v1. It must have the vocabulary of model.path. null: the model is opened on this machine by the backbone',
    ),
    api_key: setting(text.nullable(), null, 'null: the environment variable TEACHER_API_KEY', { isSecret: true }),
  })
  .describe('the model that adv_estimator distill learns from');

/** A value of 1 is refused, because the mean of the gradients would stay 0. */
const beta = z.number().min(0).lt(1);

export const optim = z
  .strictObject({
    lr: setting(
      z.union([z.literal('auto'), notNegative]),
      'auto',
      'auto: by the size of the model, 3e-4 for up to 20M parameters, 3e-5 up to 300M, 5e-6 up to 1B, 3e-6 up to 3B, 1e-6 above; with lora 1e-3 for up to 300M, then 1e-4, 3e-5, 1e-5. The run stores the number',
    ),
    betas: setting(z.tuple([beta, beta]), [0.9, 0.999], 'each below 1'),
    eps: setting(positive, 1e-8),
    weight_decay: setting(notNegative, 0.01),
    grad_clip: setting(notNegative, 1, 'limit of the global gradient norm; 0: off'),
    lr_scheduler_type: setting(
      z.enum(['constant', 'linear', 'cosine', 'warmup_stable_decay']),
      'constant',
      'constant | linear | cosine | warmup_stable_decay (WSD). The last three fall until the last step. Steps that train nothing count too',
    ),
    lr_warmup_steps: setting(
      countOrZero(numSteps),
      0,
      'warm-up in optimizer steps. Each step counts as mini_batch_num x ppo_epochs of them, even if it trains nothing',
    ),
    lr_warmup_steps_ratio: setting(share, 0, 'warm-up as a share of all optimizer steps, in place of lr_warmup_steps'),
    min_lr_ratio: setting(share, 0, 'the share of lr that a falling schedule ends at'),
    lr_wsd_decay_steps: setting(
      count(numSteps).nullable(),
      null,
      'with warmup_stable_decay: the optimizer steps at the end in which the rate falls linearly. null: a tenth of all',
    ),
  })
  .describe('AdamW');

/** Settings of `ajet sft`. The optimizer is that of `trainer_common`. */
export const sftSection = z
  .strictObject({
    transcripts: setting(
      z.union([text, z.array(text).min(1)]).nullable(),
      null,
      'transcripts to imitate, one path or a list: a run folder (collected with debug.collect, or of a training run), a JSONL file of {"messages", "tools"}, trajectories in ATIF (.json or .jsonl), or a folder of such files',
      { path: 'file' },
    ),
    epochs: setting(
      z.union([z.literal('auto'), count(numSteps)]),
      'auto',
      'passes over the transcripts. auto: up to 20, until two passes in a row have not lowered the held-out loss; the checkpoint with the lowest loss is the result. Without held-out examples, auto means 5',
    ),
    batch_size: setting(count(65_536), 16, 'examples per step: an episode, or a line of a file'),
    lr: setting(notNegative.nullable(), null, 'null: trainer_common.optim.lr'),
    held_out: setting(
      z.number().min(0).lt(1),
      0.1,
      'share of the tasks whose examples are held out; the loss on them is reported',
    ),
    only_success: setting(z.boolean(), true, 'leave out episodes that are known to have failed'),
    min_reward: setting(z.number().nullable(), null, 'leave out episodes that are known to have a lower reward'),
    agents: setting(
      z.array(text).min(1).nullable(),
      null,
      'names or target tags of the agents to imitate; null: trainable_targets, or all',
      { isPlain: true },
    ),
    max_length: setting(
      z.int().min(2).max(numTokens).nullable(),
      null,
      'maximum tokens of an example; null: rollout.max_model_len',
    ),
    overlong: setting(z.enum(['drop', 'error']), 'drop', 'what happens to a longer example: drop (counted) | error'),
  })
  .describe('ajet sft: the model learns to answer as the transcripts do');

/** Settings of episodes that train nothing. They are printed, or collected for `ajet sft`. */
export const debug = z
  .strictObject({
    debug_max_parallel: setting(count(65_536), 4, 'episodes at the same time; 1 is best with a breakpoint'),
    debug_first_n_tasks: setting(count(1_000_000), 2),
    collect: setting(
      z.union([z.literal('all'), count(numSteps)]).nullable(),
      null,
      'all, or a number of training tasks: keep their episodes in a run folder, for sft.transcripts, instead of printing them. --resume continues',
    ),
    collect_repeat: setting(count(4096), 1, 'episodes per task that are collected'),
    seed: setting(seed, 12345),
    base_url: setting(
      text.nullable(),
      null,
      'an OpenAI-compatible endpoint, e.g. http://localhost:8000/v1; null: model.path in this process',
    ),
    api_key: setting(text.nullable(), null, 'null: the environment variable OPENAI_API_KEY', { isSecret: true }),
    model: setting(text.nullable(), null, 'name of the model at that endpoint'),
  })
  .describe('--backbone=debug');

export const lora = z
  .strictObject({
    rank: setting(countOrZero(65_536), 0, '0: all weights are trained'),
    alpha: setting(
      z.union([z.literal('auto'), positive]),
      'auto',
      'what an adapter adds is multiplied by alpha / rank. auto: that of lora.adapter, or else by the size of the model, 32 for up to 20M parameters, 16 above. The run stores the number',
    ),
    target_modules: setting(
      z.union([z.literal('all-linear'), z.array(text).min(1)]).nullable(),
      null,
      'layers that get an adapter. null: the projections of attention and MLP, as Qwen, Llama and Mistral name them | all-linear: all linear layers except the head, as in PEFT. onnx adapts these projections only',
      { isPlain: true },
    ),
    adapter: setting(
      text.nullable(),
      null,
      'folder of an adapter in the layout of PEFT, with which training begins; null: a new adapter, which changes nothing at first. rank, alpha and target_modules must be those of the folder. A KL term compares with the model without an adapter',
      { path: 'file' },
    ),
  })
  .describe('onnx and torch');

/** Batches, and the lengths of samples. */
export const data = z.strictObject({
  train_batch_size: setting(
    count(65_536),
    16,
    'tasks per step, at most the number of training tasks; each is run rollout.num_repeat times',
  ),
  max_prompt_length: setting(
    count(numTokens),
    1024,
    'max_prompt_length + max_response_length: maximum tokens of one trained sample',
  ),
  max_response_length: setting(count(numTokens), 1024),
  overlong_sample_policy: setting(
    z.enum(['error', 'drop_episode', 'truncate']),
    'error',
    'what happens to a longer sample: error | drop_episode | truncate (cuts its end). It is counted in the metrics',
  ),
});

/** How episodes are sampled. */
export const rollout = z.strictObject({
  user_workflow: setting(
    text.nullable(),
    null,
    'path/file.ts->Export: a Workflow class, or a function (task, tuner) => output',
    { path: 'module' },
  ),
  num_repeat: setting(count(4096), 8, 'episodes per task; they form the group whose rewards are compared'),
  max_env_worker: setting(
    z.union([z.literal('auto'), count(65_536)]),
    'auto',
    'maximum number of episodes that run at the same time, in a swarm over all clients. auto: 64; on torch or verl 128, and in an ordinary run twice as many from a later step on, and again, as long as this samples at least 1.15 times the tokens a second',
  ),
  temperature: setting(temperature, 1, 'sampling during training; 0 takes the likeliest token, which explores nothing'),
  top_p: setting(
    topP,
    1,
    'sampling during training. Below 1, the loss, its entropy and its KL are computed over the tokens that top_p and top_k keep. This needs the backbone onnx or torch',
  ),
  top_k: setting(topK, -1, '-1 keeps all tokens; a smaller set is trained in the same way as with top_p'),
  request_sampling: setting(
    z.enum(['ignore', 'honour']),
    'ignore',
    'whether a request of a trained agent may set temperature, top_p, top_k and seed. ignore: these settings decide | honour: the request decides. Tokens that it samples with another top_p or top_k are then not trained',
  ),
  max_model_len: setting(
    z.int().min(2).max(numTokens),
    2048,
    'maximum tokens of prompt and answer together, at most the limit of the model',
  ),
  max_response_length_in_one_turn: setting(count(numTokens), 256, 'maximum tokens of one answer'),
  multi_turn: z.strictObject({
    max_steps: setting(
      count(1_000_000).nullable(),
      null,
      'maximum model calls of one episode; a further call fails the episode. null: no limit',
    ),
  }),
  val_kwargs: z
    .strictObject({
      temperature: setting(temperature, 0),
      top_p: setting(topP, 1),
      top_k: setting(topK, -1),
    })
    .describe('sampling during evaluations'),
  untrained_models: setting(
    z.array(text),
    ['*:untrained'],
    "model names whose calls are answered but not trained, such as those for titles and summaries, e.g. ['*haiku*']",
    { isPlain: true },
  ),
  special_tokens_in_text: setting(
    z.enum(['split', 'as_template', 'refuse']),
    'split',
    'special tokens, such as <|im_end|>, in text of users and tools: split (into plain text) | as_template (they can forge turns) | refuse (an error). They are counted',
  ),
  episode_timeout: setting(positive.max(mostSeconds), 300, 'seconds; a longer episode is aborted and counts as failed'),
  failed_episode_policy: setting(
    z.enum(['partial_group', 'drop_group', 'zero_reward']),
    'partial_group',
    'what happens if an agent throws or times out: partial_group (train the other episodes of the task) | drop_group (train none of them) | zero_reward',
  ),
  min_group_share: setting(
    z.number().gt(0).max(1),
    0.5,
    "partial_group: the share of a task's episodes that must remain; at least two must remain in any case",
  ),
  refill_groups: setting(
    countOrZero(65_536),
    0,
    'maximum number of extra tasks that a step draws to replace tasks whose episodes all got the same reward. They are counted in the metrics',
  ),
  max_attempts: setting(
    count(1000),
    3,
    'maximum number of times that an episode is run again, with the same seed, after an outage (connection, quota, service)',
  ),
  max_outage: setting(
    positive.max(mostSeconds).nullable(),
    1800,
    'seconds; a longer outage ends the run with a checkpoint. null: the run waits without a limit',
  ),
  straggler_patience: setting(
    positive.max(mostSeconds).nullable(),
    null,
    'seconds that the last groups of a step may run after half of its groups are complete. Then they are given up and counted in stale_episodes. This favours short episodes. null: only episode_timeout ends an episode',
  ),
  score_patience: setting(
    positive.max(mostSeconds).nullable(),
    null,
    'seconds that an episode waits for a judge that cannot be reached. null: the value of max_outage',
  ),
  record: setting(
    z.boolean(),
    true,
    'keep every finished episode on disk until a checkpoint covers it. After a crash, --resume repeats the steps since the checkpoint without sampling their episodes again',
  ),
  workflow_processes: setting(
    countOrZero(1024),
    0,
    'processes that run the workflows and their judge, so that a workflow that blocks, crashes or leaks costs only its own episodes. 0: they run in this process',
  ),
  group_patience: setting(
    positive.max(mostSeconds),
    1800,
    'swarm: seconds from the first claim of a task until its missing episodes are given up',
  ),
  oversubscribe: setting(
    z.number().min(1).max(16),
    1,
    'swarm: groups sampled at the same time, as a multiple of a batch. A value above 1 needs max_staleness',
  ),
  name: setting(z.enum(['builtin', 'vllm']), 'builtin', 'torch only: builtin | vllm, which must be installed'),
  max_num_seqs: setting(
    count(65_536).nullable(),
    null,
    'torch only: maximum answers sampled at the same time per GPU. null: the sampler decides',
  ),
  gpu_memory_utilization: setting(
    z.number().gt(0).max(1).nullable(),
    null,
    'torch with vllm: its share of GPU memory. null: 0.45 next to the trainer, 0.9 on separate GPUs',
  ),
  num_replicas: setting(
    count(1024),
    1,
    'torch with vllm: servers on each node. An episode stays with one server; if that server fails, another answers its calls',
  ),
  tensor_model_parallel_size: setting(count(1024), 1, 'torch with vllm: GPUs per server'),
  colocated: setting(
    z.boolean(),
    true,
    "torch with vllm: true: vLLM shares the trainer's first GPUs; false: it uses the GPUs after the trainer's",
  ),
});

/** The number of episodes at the same time before a faster number has been measured. */
const unmeasuredWorkers = { narrow: 64, wide: 128 } as const;

/** Returns how many episodes run at the same time at first. The second argument has the capabilities of the backbone. */
export function firstWorkers(
  { maxEnvWorker }: { readonly maxEnvWorker: number | 'auto' },
  { samplesWide = false }: { readonly samplesWide?: boolean },
): number {
  return maxEnvWorker === 'auto' ? unmeasuredWorkers[samplesWide ? 'wide' : 'narrow'] : maxEnvWorker;
}
