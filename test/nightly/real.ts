import { findModel } from '../releases/find-model.js';
import type { NightlyJob } from './nightly-job.js';
import { findShortfalls } from './real/find-shortfalls.js';
import { needsModel, runSections } from './real/run-sections.js';

/** The sections of `npm run bench -- real`, without the longest, which is the job `bfcl`. They take about 40 minutes on two cores. */
const sections = [
  'calculator',
  'json',
  'langgraph',
  'first_run',
  'two_players',
  'tools_in_template',
  'gguf',
  'probe',
  'typed_tools',
] as const;

/** Trains one seed of each tutorial with SmolLM2, as `npm run bench -- real` does, and compares it with its bar. */
export const run: NightlyJob['run'] = async (keep) =>
  findModel('smollm2-135m') === undefined
    ? needsModel
    : runSections(sections, { keep, findShortfalls, success: 'every tutorial meets its bar' });
