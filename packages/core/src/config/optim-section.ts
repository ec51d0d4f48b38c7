import { z } from 'zod';
import { countOrZero, notNegative, numSteps, positive } from './ranges.js';
import { setting } from './setting.js';

/** With 1 the mean of the gradients would stay 0. */
const beta = z.number().min(0).lt(1);

export const optim = z
  .strictObject({
    lr: setting(notNegative, 3e-4),
    betas: setting(z.tuple([beta, beta]), [0.9, 0.999], 'each below 1'),
    eps: setting(positive, 1e-8),
    weight_decay: setting(notNegative, 0.01),
    grad_clip: setting(notNegative, 1, 'limit of the global gradient norm; 0: off'),
    lr_scheduler_type: setting(
      z.enum(['constant', 'linear', 'cosine']),
      'constant',
      'constant | linear | cosine, down to 0 at the last step; steps that train nothing count too',
    ),
    lr_warmup_steps: setting(
      countOrZero(numSteps),
      0,
      'in optimizer steps; each step counts as mini_batch_num x ppo_epochs of them, even if it trains nothing',
    ),
  })
  .describe('AdamW');
