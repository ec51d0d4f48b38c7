import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from '@agentjet/core';
import { episodeFileName, stepOfName } from './episode-files.js';
import { readFolder } from './file-error.js';
import { readJsonLines } from './json-lines.js';

/**
 * What the trainer computed for the tokens of a step, in annotations/step-000012.jsonl. Each optimizer step, numbered by
 * `update`, has a line with its totals, and a line for each sample with tokens that are kept.
 */
export type AnnotationLine = UpdateAnnotation | SampleAnnotation;

/** The totals of an optimizer step. `kept` of its `tokens` have an entry in the lines that follow. */
export type UpdateAnnotation = {
  readonly update: number;
  readonly mode: 'changed' | 'all';
  /** Of the mode `changed`: only tokens whose gap is larger are kept, and tokens that the clip removed. */
  readonly gap_limit?: number;
  readonly tokens: number;
  readonly kept: number;
  readonly clipped: number;
  /** The mean and the largest |training logprob - sampled logprob|, in nats. */
  readonly gap_mean: number;
  readonly gap_max: number;
  /** Absent if the backbone does not see distributions. */
  readonly entropy_mean?: number;
};

/** Tokens of one sample of an episode. All lists have the same length. */
export type SampleAnnotation = {
  readonly update: number;
  readonly episode_id: string;
  /** The index of the sample in the episode's line. */
  readonly sample: number;
  /** Positions in the sample. */
  readonly positions: readonly number[];
  /** Under the weights before the update, at the temperature of the token. */
  readonly logprobs: readonly number[];
  /** In nats. Absent if the backbone does not see distributions. */
  readonly entropies?: readonly number[];
  /** exp(training logprob - sampled logprob). */
  readonly ratios: readonly number[];
  /**
   * The importance weight between trainer and sampler by which the correction multiplied the token, after its limit. 0
   * for a masked token. Absent without a correction, and if the backbone does not report it.
   */
  readonly importance?: readonly number[];
  /** The weight of the token in the loss of the optimizer step. */
  readonly weights: readonly number[];
  /** 1 if the clip removed the gradient of the token. */
  readonly clipped: readonly number[];
};

const dirOf = (runDir: string): string => path.join(runDir, 'annotations');
const fileOf = (runDir: string, step: number): string => path.join(dirOf(runDir), episodeFileName(step));

/** Writes the annotations of a step that is recorded for the first time, or again after a rewind. */
export async function writeAnnotations(runDir: string, step: number, lines: readonly AnnotationLine[]): Promise<void> {
  await mkdir(dirOf(runDir), { recursive: true });
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  await replaceFile(fileOf(runDir, step), text, { isFlushed: false });
}

/** Returns the lines of a step. Empty if nothing was recorded. */
export async function readAnnotations(runDir: string, step: number): Promise<readonly AnnotationLine[]> {
  return (await readJsonLines(fileOf(runDir, step))) as AnnotationLine[];
}

/** Removes the annotations of later steps. */
export async function rewindAnnotations(runDir: string, lastStep: number): Promise<void> {
  for (const name of await readFolder(dirOf(runDir))) {
    const step = stepOfName(name);
    if (step === undefined || step > lastStep) await rm(path.join(dirOf(runDir), name), { recursive: true });
  }
}
