import path from 'node:path';
import {
  BackboneError,
  ConfigError,
  type CommonConfig,
  type ConfigComposition,
  type ConfigDifference,
} from '@agentjet/core';
import { hashCode, type CodeHashes } from '@agentjet/inputs';
import { findLatestRun, openRunFolder, type Checkpoint, type RunFolder } from '@agentjet/run-folder';

/**
 * Common keys that may change between a run and its continuation. They affect the length and the speed of the run, but
 * not its results. `freeOnResume` lists such keys for registered parts.
 */
const freeKeys = [
  /^model\.memory_check$/,
  /^trainer_common\.(max_empty_steps|stop_on_collapse|report_by|record_tokens|keep_best|logger)$/,
  /^rollout\.(max_attempts|max_outage|score_patience|group_patience|oversubscribe|record|workflow_processes)$/,
  /^trainer_common\.evaluation_patience$/,
  /^swarm\.(recovery_budget|sync)$/,
  /^project_name$/,
  /^experiment_(name|dir)$/,
  /^debug\./,
  /^sft\.(transcripts|epochs)$/, // transcripts are compared by their content, not by path
  /^rollout\.(max_env_worker|episode_timeout|gpu_memory_utilization|max_num_seqs|num_replicas|colocated)$/,
  /^trainer_common\.(save_freq|test_freq|max_checkpoints)$/,
];

/** Keys that may change within a run. They affect its later results, so each change is recorded with its first step. */
const changeableKeys = [
  /^trainer_common\.optim\./,
  /^trainer_common\.(total_epochs|total_training_steps|val_before_train|val_pass_n|val_sampled)$/,
  /^rollout\.(num_repeat|user_workflow|failed_episode_policy|min_group_share|refill_groups|straggler_patience)$/,
  /^rollout\.val_kwargs\./,
  /^task_judge(\.|$)/,
  /^task_reader(\.|$)/,
];

/** A run to resume. If it has no checkpoint, it was stopped before its first one, and starts from the beginning. */
export type ResumedRun = {
  readonly run: RunFolder;
  readonly checkpoint: Checkpoint | undefined;
  /**
   * The settings that differ from before. They are not recorded yet, because only the caller knows the first step that
   * they apply to.
   */
  readonly changes: readonly ConfigDifference[];
};

function describeDifference({ key, before, after }: ConfigDifference): string {
  return `${key} was ${JSON.stringify(before)}, now ${JSON.stringify(after)}`;
}

/** Returns the key without the name of the policy, if it sets a value for one of several policies. */
const ownKey = (key: string): string => key.replace(/^swarm\.policies\.[a-z0-9_]+\./, '');

/** Says how a new run begins with the weights of this run. A run does not train an adapter as its `model.path`. */
export const startAgain = ({ lora }: Pick<CommonConfig, 'lora'>): string =>
  lora.rank === 0
    ? 'start a new run from its weights: leave out --resume and set model.path=<run>/checkpoints/step-....'
    : 'start a new run from its weights: leave out --resume, merge its adapter with `ajet export <run>/checkpoints/step-... <new folder>`, and set model.path to the new folder.';

/** Returns the differences that are allowed. Throws ConfigError `resume_mismatch` for any other difference. */
function findChanges(
  run: RunFolder,
  config: CommonConfig,
  composition: ConfigComposition,
): readonly ConfigDifference[] {
  const before = composition.load(path.join(run.dir, 'config.yaml'));
  const isFree = (key: string): boolean =>
    composition.freeOnResume.includes(key) || freeKeys.some((free) => free.test(key));
  const differences = composition.compare(before, config).filter(({ key }) => !isFree(ownKey(key)));
  const refused = differences.filter(({ key }) => !changeableKeys.some((changeable) => changeable.test(ownKey(key))));
  if (refused.length === 0) return differences;
  throw new ConfigError(
    'resume_mismatch',
    `--resume: the run ${run.dir} was made with another configuration: ${refused.map(describeDifference).join('; ')}. ` +
      `Give the values it was made with (they are in its config.yaml), or ${startAgain(before)}`,
  );
}

/** Returns the code files of the configuration that were edited since the run last began. */
async function findEditedCode(run: RunFolder, config: CommonConfig): Promise<readonly ConfigDifference[]> {
  const before = await run.readCodeHashes();
  return Object.entries(hashCode(config)).flatMap(([reference, sha256]) => {
    const earlier = before[reference];
    return earlier === undefined || earlier === sha256
      ? []
      : [{ key: `code of ${reference}`, before: earlier.slice(0, 12), after: sha256.slice(0, 12) }];
  });
}

/** Returns the files of the model folder that changed since the run began. */
async function findEditedModel(run: RunFolder, modelDir: string): Promise<readonly ConfigDifference[]> {
  const changes = await run.findModelChanges(modelDir);
  return changes.map(({ file, before, after }) => ({ key: `${file} of model.path`, before, after }));
}

/** Returns the folder of the run to resume. Throws BackboneError `nothing_to_resume` if there is none. */
export async function findRun(config: CommonConfig, resume: true | string): Promise<string> {
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
  /** True selects the newest run of the experiment. A string is the path of a run folder. */
  readonly resume: true | string;
  /** A checkpoint's name, such as `step-20`. Default: the newest complete checkpoint. */
  readonly from?: string | undefined;
  readonly modelDir: string;
  readonly onNotice: (message: string) => void;
  readonly composition: ConfigComposition;
};

type FolderAgain = Omit<ResumeOptions, 'resume' | 'from' | 'modelDir'> & {
  readonly dir: string;
  /** Undefined if the run has several policies, which have their own models. */
  readonly modelDir: string | undefined;
};

/**
 * Opens a run folder to resume, and returns the settings that differ from before and are allowed to. Throws ConfigError
 * `resume_mismatch` for any other difference.
 */
export async function openFolderAgain(
  config: CommonConfig,
  { dir, modelDir, onNotice, composition }: FolderAgain,
): Promise<{ readonly run: RunFolder; readonly changes: readonly ConfigDifference[] }> {
  const run = await openRunFolder(dir, { onNotice, keepBest: config.trainerCommon.keepBest });
  const changes = [
    ...findChanges(run, config, composition),
    ...(await findEditedCode(run, config)),
    ...(modelDir === undefined ? [] : await findEditedModel(run, modelDir)),
  ];
  return { run, changes };
}

/**
 * Opens the run and restores it to a checkpoint. Throws ConfigError `resume_mismatch` for a difference that is not
 * allowed, and BackboneError `checkpoint` if the checkpoint is missing or broken.
 */
export async function openResumedRun(
  config: CommonConfig,
  { resume, from, modelDir, onNotice, composition }: ResumeOptions,
): Promise<ResumedRun> {
  const dir = await findRun(config, resume);
  const { run, changes } = await openFolderAgain(config, { dir, modelDir, onNotice, composition });
  const checkpoint = from === undefined ? await run.checkpoints.latest(onNotice) : await run.checkpoints.open(from);
  onNotice(
    `Resuming ${run.dir}, ${checkpoint === undefined ? 'from its beginning' : `after step ${checkpoint.state.step}`}.`,
  );
  await run.rewind(checkpoint?.state ?? { step: 0, policyVersion: 0, groupsDrawn: 0 });
  return { run, checkpoint, changes };
}

export async function recordChanges(
  run: RunFolder,
  changes: readonly ConfigDifference[],
  at: {
    readonly firstStep: number;
    readonly configYaml: string;
    readonly code: CodeHashes;
    readonly onNotice: (message: string) => void;
  },
): Promise<void> {
  await run.recordChanges({ firstStep: at.firstStep, changes, configYaml: at.configYaml, code: at.code });
  for (const change of changes) at.onNotice(`From step ${at.firstStep} on: ${describeDifference(change)}.`);
}
