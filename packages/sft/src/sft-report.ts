import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, parseJsonObject, type CommonConfig } from '@agentjet/core';
import { startAgain } from '@agentjet/local-run';
import type { TranscriptSource } from './read-transcripts.js';
import { countTokens, describeDropped, type PreparedExamples } from './prepare-examples.js';

/** Describes the transcripts of a run and how they were used: `imitated.json` in its folder. */
const fileName = 'imitated.json';

export function describeExamples({ training, heldOut, dropped }: PreparedExamples): string {
  const { tokens, imitated } = countTokens(training);
  const left = describeDropped(dropped);
  return (
    `Imitates ${training.length} examples (${imitated} of ${tokens} tokens), ${heldOut.length} are held out` +
    `${left === '' ? '' : `. Left out: ${left}`}.`
  );
}

/** Throws ConfigError `resume_mismatch` if the run began with other transcripts. */
export async function checkReport(
  runDir: string,
  { training, sha256 }: PreparedExamples,
  config: Pick<CommonConfig, 'lora'>,
): Promise<void> {
  const before = parseJsonObject(await readFile(path.join(runDir, fileName), 'utf8').catch(() => ''));
  // Accept a run without a report, because it may have been killed before it wrote one.
  if (before === undefined || before['sha256'] === sha256) return;
  throw new ConfigError(
    'resume_mismatch',
    `--resume: the run ${runDir} was given other transcripts (${String(before['examples'])} examples, now ${training.length}), or other rules to choose them. ` +
      `Give it what it began with, or ${startAgain(config)}`,
  );
}

export async function writeReport(
  runDir: string,
  sources: readonly TranscriptSource[],
  { training, heldOut, dropped, firstDropped, sha256 }: PreparedExamples,
): Promise<void> {
  const report = {
    sha256,
    examples: training.length,
    held_out_examples: heldOut.length,
    ...countTokens(training),
    dropped,
    first_dropped: firstDropped,
    sources,
  };
  await writeFile(path.join(runDir, fileName), `${JSON.stringify(report, null, 2)}\n`);
}
