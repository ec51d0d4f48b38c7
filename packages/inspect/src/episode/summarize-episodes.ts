import { textOrEmpty } from '@agentjet/core';
import { openRunFolder, type RecordedEpisode } from '@agentjet/run-folder';
import { modelDirOf } from './run-tokenizer.js';

/** One line of a list of episodes. */
export type EpisodeSummary = {
  readonly episodeId: string;
  readonly step: number;
  readonly taskId: string;
  readonly status: string;
  readonly reward: number | null;
  readonly samples: number;
  readonly generatedTokens: number;
  /** Null for an episode of an evaluation, which is never trained. */
  readonly trainedTokens: number | null;
};

/** Yields the episodes of a run, step by step. Throws BackboneError `run_folder`. */
export async function* summarizeEpisodes(runDir: string): AsyncGenerator<EpisodeSummary> {
  const { episodes } = await openRunFolder(runDir);
  for (const step of await episodes.steps()) {
    for (const record of await episodes.readStep(step)) yield summarize(record);
  }
}

function summarize(record: RecordedEpisode): EpisodeSummary {
  return {
    episodeId: record.episode_id,
    step: record.step,
    taskId: textOrEmpty(record['task_id']),
    status: textOrEmpty(record['status']),
    reward: typeof record['reward'] === 'number' ? record['reward'] : null,
    samples: record.samples.length,
    generatedTokens: toNumber(record['generated_tokens']),
    trainedTokens: record.phase === 'evaluation' ? null : toNumber(record['trained_tokens']),
  };
}

const toNumber = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** Describes the files of a run that were changed after they were written. Throws BackboneError `run_folder`. */
export async function findChanges(runDir: string): Promise<readonly string[]> {
  const run = await openRunFolder(runDir);
  return run.findChanges(await modelDirOf(run).catch(() => undefined));
}
