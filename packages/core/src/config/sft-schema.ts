import { z } from 'zod';
import { count, notNegative, numSteps, numTokens, text } from './ranges.js';
import { setting } from './setting.js';

/** What `ajet sft` imitates, and for how long. The optimizer is that of `trainer_common`. */
export const sft = z
  .strictObject({
    transcripts: setting(
      z.union([text, z.array(text).min(1)]).nullable(),
      null,
      'what is imitated, one path or a list: a run folder (collected with debug.collect, or of a training run), a JSONL file of {"messages", "tools"}, or a folder of such files',
      { path: 'file' },
    ),
    epochs: setting(count(numSteps), 3, 'passes over the transcripts'),
    batch_size: setting(count(65_536), 16, 'examples per step: an episode, or a line of a file'),
    lr: setting(notNegative.nullable(), null, 'null: trainer_common.optim.lr'),
    held_out: setting(
      z.number().min(0).lt(1),
      0.1,
      'share of the tasks whose examples are not trained: the loss on them is reported',
    ),
    only_success: setting(z.boolean(), true, 'leave out episodes that are known not to have succeeded'),
    min_reward: setting(z.number().nullable(), null, 'leave out episodes that are known to have a lower reward'),
    agents: setting(
      z.array(text).min(1).nullable(),
      null,
      'names or target tags of the agents that are imitated; null: trainable_targets, or all',
    ),
    max_length: setting(
      z.int().min(2).max(numTokens).nullable(),
      null,
      'most tokens of an example; null: rollout.max_model_len',
    ),
    overlong: setting(z.enum(['drop', 'error']), 'drop', 'a longer example: drop (counted) | error'),
  })
  .describe('ajet sft: the model learns to answer as the transcripts do');
