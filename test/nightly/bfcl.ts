import { findModel } from '../releases/find-model.js';
import type { NightlyJob } from './nightly-job.js';
import { findChoiceShortfalls } from './real/find-shortfalls.js';
import { needsModel, runSections } from './real/run-sections.js';

/**
 * Trains tutorial choose-function with SmolLM2 and compares it with its bars. It takes about 75 minutes on two quiet
 * cores, so it is apart from the job `real`.
 */
export const run: NightlyJob['run'] = async (keep) =>
  findModel('smollm2-135m') === undefined
    ? needsModel
    : runSections(['bfcl'], {
        keep,
        findShortfalls: findChoiceShortfalls,
        success: 'each kind of question meets its bar',
      });
