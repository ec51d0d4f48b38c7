import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, replaceFile } from '@agentjet/core';
import type { ModelClient } from '@agentjet/model-client';
import { readLabelledExamples } from '../calibration/labelled-examples.js';
import { learnRubrics, type LearnedRubrics, type LearnOptions } from './learn-rubrics.js';
import { formatRubrics, parseRubrics, type Criterion } from './rubrics-file.js';

export type OpenRubricsOptions = LearnOptions & {
  readonly file: string;
  /** Labelled answers. Rubrics are learned from them if the file does not exist. */
  readonly examples: string | null;
};

/**
 * Opens the rubrics of the file. If the file does not exist, the rubrics are learned from the examples and written to
 * it once. After that, only the file is read.
 */
export async function openRubrics(
  client: ModelClient,
  { file, examples, ...options }: OpenRubricsOptions,
): Promise<readonly Criterion[]> {
  if (!existsSync(file)) {
    if (examples === null)
      throw new ConfigError(
        'missing_file',
        `task_judge.rubrics.file names ${file}, which does not exist. Write the file, or set task_judge.rubrics.examples to learn the criteria from scored answers.`,
      );
    const learned = await learnRubrics(client, readLabelledExamples(examples), options);
    await mkdir(path.dirname(path.resolve(file)), { recursive: true });
    await replaceFile(file, formatRubrics(learned.criteria, describe(learned)));
  }
  return parseRubrics(readFileSync(file, 'utf8'), file);
}

function describe({ numLearned, numHeldOut, rankCorrelation }: LearnedRubrics): string {
  const followed =
    rankCorrelation === null
      ? `The ${numHeldOut} examples kept aside are too few to measure how well the criteria follow the scores.`
      : `On ${numHeldOut} examples kept aside, the rank correlation of the criteria with the scores is ${rankCorrelation.toFixed(2)}.`;
  return [
    `Learned from ${numLearned} examples. ${followed}`,
    'Edit names, weights and words as you like: this file is read when a run starts, and is never written again.',
  ].join('\n');
}
