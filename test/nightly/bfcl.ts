import { findModel } from '../releases/find-model.js';
import type { NightlyJob } from './nightly-job.js';
import { findChoiceShortfalls } from './real/find-shortfalls.js';
import { needsModel, runSections } from './real/run-sections.js';

/**
 * Trains tutorial choose-function with SmolLM2 and compares it with its bars. One pass over the gold calls and half of
 * the steps take about 35 minutes on two quiet cores. The tutorial's three passes and 24 steps take about 75. After one
 * pass, the tutorial's rate of 2e-5 unlearned what the imitation had taught: questions with several functions fell from
 * 0.47 to 0.16.
 */
export const run: NightlyJob['run'] = async (keep) =>
  findModel('smollm2-135m') === undefined
    ? needsModel
    : runSections(['bfcl'], {
        keep,
        settings: ['sft.epochs=1', 'trainer_common.total_training_steps=12', 'trainer_common.optim.lr=5.0e-6'],
        findShortfalls: findChoiceShortfalls,
        success: 'each kind of question meets its bar',
      });
