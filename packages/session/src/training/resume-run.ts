import path from 'node:path';
import {
  BackboneError,
  ConfigError,
  type CommonConfig,
  type ConfigComposition,
  type ConfigDifference,
} from '@agentjet/core';
import { findLatestRun, openRunFolder, type Checkpoint, type RunFolder } from '@agentjet/run-folder';

/** Common keys that may change between a run and its continuation, as `freeOnResume` says of registered ones: they decide how long and how fast it goes, not what it computes. */
const freeKeys = [
  /^project_name$/,
  /^experiment_(name|dir)$/,
  /^debug\./,
  /^rollout\.(max_env_worker|episode_timeout|gpu_memory_utilization|max_num_seqs|colocated)$/,
  /^trainer_common\.(total_epochs|total_training_steps|save_freq|test_freq|max_checkpoints)$/,
];

/** A run to go on with; without a checkpoint it was stopped before its first and begins anew. */
export type ResumedRun = { readonly run: RunFolder; readonly checkpoint: Checkpoint | undefined };

function describeDifference({ key, before, after }: ConfigDifference): string {
  return `${key} was ${JSON.stringify(before)}, now ${JSON.stringify(after)}`;
}

function checkSameConfig(run: RunFolder, config: CommonConfig, composition: ConfigComposition): void {
  const before = composition.load(path.join(run.dir, 'config.yaml'));
  const isFree = (key: string): boolean =>
    composition.freeOnResume.includes(key) || freeKeys.some((free) => free.test(key));
  const differences = composition.compare(before, config).filter(({ key }) => !isFree(key));
  if (differences.length === 0) return;
  throw new ConfigError(
    'resume_mismatch',
    `--resume: the run ${run.dir} was made with another configuration: ${differences.map(describeDifference).join('; ')}. ` +
      'Give the values it was made with (they stand in its config.yaml), or leave out --resume to start a new run.',
  );
}

async function findRun(config: CommonConfig, resume: true | string): Promise<string> {
  if (typeof resume === 'string') return resume;
  const latest = await findLatestRun(config.experimentDir, config.experimentName);
  if (latest !== undefined) return latest;
  const place = path.join(config.experimentDir, config.experimentName);
  throw new BackboneError(
    'nothing_to_resume',
    `--resume: there is no run in ${place}. Leave out --resume to start one, or correct experiment_dir and experiment_name.`,
  );
}

export type ResumeOptions = {
  /** True: the experiment's run that was written last. A string: that run folder. */
  readonly resume: true | string;
  /** A checkpoint's name, such as `step-20`; default: the newest that is whole. */
  readonly from?: string | undefined;
  readonly onNotice: (message: string) => void;
  readonly composition: ConfigComposition;
};

/**
 * Opens the run and puts it back to where a checkpoint left it. Throws ConfigError `resume_mismatch`, BackboneError `checkpoint`
 * if the checkpoint is missing or broken.
 */
export async function openResumedRun(
  config: CommonConfig,
  { resume, from, onNotice, composition }: ResumeOptions,
): Promise<ResumedRun> {
  const run = await openRunFolder(await findRun(config, resume), { onNotice });
  checkSameConfig(run, config, composition);
  const checkpoint = from === undefined ? await run.checkpoints.latest(onNotice) : await run.checkpoints.open(from);
  onNotice(
    `Going on with ${run.dir}, ${checkpoint === undefined ? 'from its beginning' : `after step ${checkpoint.state.step}`}.`,
  );
  await run.rewind(checkpoint?.state ?? { step: 0, policyVersion: 0, groupsDrawn: 0 });
  return { run, checkpoint };
}
