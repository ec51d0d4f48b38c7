import { z } from 'zod';
import { count, numSteps, seed, text } from './ranges.js';
import { setting } from './setting.js';

/** Episodes that train nothing: printed, or collected for `ajet sft`. */
export const debug = z
  .strictObject({
    debug_max_parallel: setting(count(65_536), 4, 'episodes at the same time; 1 is best with a breakpoint'),
    debug_first_n_tasks: setting(count(1_000_000), 2),
    collect: setting(
      z.union([z.literal('all'), count(numSteps)]).nullable(),
      null,
      'all, or a number of training tasks: instead of printing episodes, keep what was said in a run folder, for sft.transcripts; --resume goes on',
    ),
    collect_repeat: setting(count(4096), 1, 'episodes per task that are collected'),
    seed: setting(seed, 12345),
    base_url: setting(
      text.nullable(),
      null,
      'an OpenAI-compatible endpoint, e.g. http://localhost:8000/v1; null: model.path in this process',
    ),
    api_key: setting(text.nullable(), null, 'null: the environment variable OPENAI_API_KEY', { isSecret: true }),
    model: setting(text.nullable(), null, "the model's name there"),
  })
  .describe('--backbone=debug');
