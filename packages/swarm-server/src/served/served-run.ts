import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, type CommonConfig, type ConfigComposition, type ConfigDifference } from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import {
  createRunFolder,
  createRunFolderAt,
  findLatestRun,
  type RunFolder,
  findLedger,
  hasLedger,
  newLedgerOf,
} from '@agentjet/run-folder';
import { loadServedInputs, type ServedInputs, hashCode } from '@agentjet/inputs';
import {
  withAutoSettings,
  checkKeepBest,
  checkServedStart,
  noticeAdapterBase,
  checkStopOnCollapse,
  openFolderAgain,
  recordChanges,
} from '@agentjet/local-run';
import {
  loadModelTokenizer,
  preparePolicies,
  type PreparePoliciesOptions,
  type AvailableMemory,
  withPacks,
} from '@agentjet/models';
import { createPolicyConfigs, type PolicyConfig } from './policy-configs.js';
import { openServedWeights, type ServedWeights } from './served-weights.js';

/**
 * A run whose episodes come from clients. A server makes its steps one by one, and records them in a ledger inside the
 * run folder. This file opens the folder and the model, and trains batches. It does not read or write the ledger.
 */
export type ServedRun = {
  readonly config: CommonConfig;
  readonly folder: RunFolder;
  /** The folder of the ledger. */
  readonly storeDir: string;
  /** Whether the folder existed before. */
  readonly isResumed: boolean;
  /** The models of the run. There is only `default`, unless `swarm.policies` names several policies. */
  readonly policies: readonly ServedPolicy[];
  readonly close: () => Promise<void>;
};

/** One model of a run. */
export type ServedPolicy = {
  readonly name: string;
  readonly config: CommonConfig;
  /** The folder of its metrics and checkpoints: the run folder, or `policies/<name>` in it. */
  readonly folder: RunFolder;
  /** Opens the model with the weights of `model.path`. Only one model is opened at a time. */
  readonly openWeights: () => Promise<ServedWeights>;
  /** Whether more calls at the same time can make its sampling faster. */
  readonly samplesWide: boolean;
};

export type ServedRunOptions<Config extends CommonConfig> = {
  readonly config: Config;
  readonly composition: ConfigComposition<Config>;
  /** The run folder to resume. Default: the experiment's newest run if it has a ledger, else a new one. */
  readonly run?: string | undefined;
  /** Whether to begin a new run in any case. */
  readonly isNew?: boolean;
  /** Takes over the run folder from a process that still writes it. */
  readonly takesOver?: boolean;
  /** Aborted when the user stops the server. The download or opening of a model is then abandoned. */
  readonly signal?: AbortSignal | undefined;
  readonly onNotice: (message: string) => void;
  /** Used in place of the memory that was measured on this machine. */
  readonly memory?: AvailableMemory | undefined;
};

/**
 * Opens the folder of a run, or creates it, and prepares the models of the run.
 * @throws ConfigError for a backbone that cannot train, and `resume_mismatch` if the run was made with another
 * configuration
 */
export async function openServedRun<Config extends CommonConfig>(
  options: ServedRunOptions<Config>,
): Promise<ServedRun> {
  const composition = options.composition as unknown as ConfigComposition;
  const configs = createPolicyConfigs(options.config, composition);
  const known = await findKnownFolder(options.config, options);
  const prepared = await prepare(configs, { ...options, composition, known });
  const [lead] = prepared;
  if (lead === undefined) throw new TypeError('A run has a policy.');
  const isOnly = prepared.length === 1;
  const config = isOnly ? lead.config : { ...lead.config, swarm: options.config.swarm };
  const opened = await openFolder(isOnly ? config : options.config, lead.inputs, {
    known,
    onNotice: options.onNotice,
    modelDir: isOnly ? lead.modelDir : undefined,
  });
  const { folder, isResumed, storeDir } = opened;
  const policies: ServedPolicy[] = [];
  for (const each of prepared) {
    const own = isOnly ? opened : await openPolicyFolder(each, folder, options);
    const onNotice = noticeOf(each, prepared.length, options);
    const { takesOver = false, signal } = options;
    const parts = { ...each, ...own, onNotice, runDir: folder.dir, storeDir, isResumed, takesOver, signal };
    policies.push({
      name: each.name,
      config: each.config,
      folder: own.folder,
      openWeights: createOpenWeights(parts),
      samplesWide: each.inputs.backbone.capabilities?.samplesWide === true,
    });
  }
  return {
    config,
    folder,
    isResumed,
    storeDir,
    policies,
    close: async () => {
      for (const each of new Set([...policies.map((policy) => policy.folder), folder])) await each.close();
    },
  };
}

type Prepared = PolicyConfig & {
  readonly inputs: ServedInputs;
  readonly modelDir: string;
  readonly chatTokenizer: ChatTokenizer;
};

/** Puts the name of the policy before each notice, if there are several policies. */
function noticeOf(
  { name }: Pick<PolicyConfig, 'name'>,
  numPolicies: number,
  { onNotice }: Pick<PrepareOptions, 'onNotice'>,
): PrepareOptions['onNotice'] {
  return numPolicies === 1 ? onNotice : (message) => onNotice(`${name}: ${message}`);
}

type PrepareOptions = PreparePoliciesOptions &
  Pick<ServedRunOptions<CommonConfig>, 'composition'> & { readonly known: KnownFolder | undefined };

/** Checks the policies as far as possible before anything is written. */
async function prepare(
  policies: readonly PolicyConfig[],
  { composition, known, ...options }: PrepareOptions,
): Promise<readonly Prepared[]> {
  const loaded: (PolicyConfig & { readonly inputs: ServedInputs })[] = [];
  for (const { name, config } of policies) {
    const own = await loadServedInputs({ config, composition });
    requireTrainable(own.config);
    checkKeepBest(own.config, undefined);
    checkStopOnCollapse(own.config, undefined);
    const { onNotice } = options;
    for (const message of checkServedStart(own.config, own.inputs))
      noticeOf({ name }, policies.length, { onNotice })(message);
    loaded.push({ name, ...own });
  }
  const prepared: Prepared[] = [];
  for (const policy of await preparePolicies(loaded, options)) {
    const { inputs, modelDir, summary } = policy;
    const onNotice = noticeOf(policy, loaded.length, options);
    if (summary !== undefined) onNotice(`model ${policy.config.model.path} (${summary})`);
    const runDir = known && (loaded.length === 1 ? known.dir : policyDir(known.dir, policy.name));
    if (runDir === undefined) for (const message of noticeAdapterBase(policy.config, modelDir)) onNotice(message);
    const config = withAutoSettings(withPacks(policy.config, policy), {
      model: policy,
      composition: inputs.composition,
      runDir,
      onNotice,
    });
    const chatTokenizer = await loadModelTokenizer(modelDir, { ...inputs, onNotice }, config);
    prepared.push({ ...policy, config, chatTokenizer });
  }
  return prepared;
}

/** Opens the folder of a policy. If there are several policies, each has a run folder inside the run folder. */
async function openPolicyFolder(
  { name, config, inputs, modelDir }: Prepared,
  run: RunFolder,
  { onNotice }: Pick<PrepareOptions, 'onNotice'>,
): Promise<Pick<Opened, 'folder' | 'changes'>> {
  const dir = policyDir(run.dir, name);
  const { composition } = inputs;
  if (existsSync(dir)) {
    const again = await openFolderAgain(config, { dir, modelDir, onNotice, composition });
    return { folder: again.run, changes: again.changes };
  }
  const { keepBest } = config.trainerCommon;
  const contents = { configYaml: composition.format(config), code: hashCode(config), keepBest, onNotice };
  return { folder: await createRunFolderAt(dir, contents), changes: [] };
}

function requireTrainable({ backbone, trainerCommon }: CommonConfig): void {
  if (backbone === 'debug')
    throw new ConfigError(
      'wrong_value',
      'The backbone "debug" trains nothing. A swarm needs a backbone that trains, such as onnx or torch.',
    );
  const { optim, totalTrainingSteps } = trainerCommon;
  if (totalTrainingSteps !== null) return;
  const [key, value] =
    optim.lrSchedulerType === 'constant'
      ? ['lr_warmup_steps_ratio', optim.lrWarmupStepsRatio]
      : ['lr_scheduler_type', optim.lrSchedulerType];
  if (value === 0) return;
  throw new ConfigError(
    'wrong_value',
    `trainer_common.optim.${key} is ${value}, which needs the number of steps, and neither a swarm nor a run of several policies can compute it. Set trainer_common.total_training_steps.`,
  );
}

type Opened = {
  readonly folder: RunFolder;
  readonly changes: readonly ConfigDifference[];
  readonly isResumed: boolean;
  readonly storeDir: string;
};

const policyDir = (runDir: string, name: string): string => path.join(runDir, 'policies', name);

/** A run folder to resume. `storeDir` is the folder of its ledger, or undefined if there is none yet. */
type KnownFolder = { readonly dir: string; readonly storeDir: string | undefined };

async function findKnownFolder(
  { experimentDir, experimentName, swarm }: CommonConfig,
  { run, isNew = false }: Pick<ServedRunOptions<CommonConfig>, 'run' | 'isNew'>,
): Promise<KnownFolder | undefined> {
  const dir = run ?? (isNew ? undefined : await findLatestRun(experimentDir, experimentName));
  if (dir === undefined) return undefined;
  const storeDir = findLedger(dir, swarm.storeDir);
  return run !== undefined || storeDir !== undefined ? { dir, storeDir } : undefined;
}

type FolderOptions = Pick<ServedRunOptions<CommonConfig>, 'onNotice'> & {
  readonly known: KnownFolder | undefined;
  /** Undefined if the run has several policies, because each of them has a separate model. */
  readonly modelDir: string | undefined;
};

async function openFolder(
  config: CommonConfig,
  { composition }: ServedInputs,
  { known, modelDir, onNotice }: FolderOptions,
): Promise<Opened> {
  const { experimentDir, experimentName, trainerCommon, swarm } = config;
  if (known !== undefined) {
    const again = await openFolderAgain(config, { dir: known.dir, modelDir, onNotice, composition });
    const storeDir = known.storeDir ?? newLedgerOf(known.dir, swarm.storeDir);
    return { folder: again.run, changes: again.changes, isResumed: true, storeDir };
  }
  const folder = await createRunFolder({
    experimentDir,
    experimentName,
    onNotice,
    configYaml: composition.format(config),
    code: hashCode(config),
    keepBest: trainerCommon.keepBest,
  });
  return { folder, changes: [], isResumed: false, storeDir: newLedgerOf(folder.dir, swarm.storeDir) };
}

type WeightsParts = {
  readonly config: CommonConfig;
  readonly inputs: ServedInputs;
  readonly modelDir: string;
  readonly chatTokenizer: ChatTokenizer;
  readonly folder: RunFolder;
  readonly changes: readonly ConfigDifference[];
  readonly onNotice: (message: string) => void;
  readonly runDir: string;
  readonly storeDir: string;
  readonly isResumed: boolean;
  readonly takesOver: boolean;
  readonly signal: AbortSignal | undefined;
};

/**
 * Creates the function that opens the weights. It records changes of the configuration once, with the first step that
 * they apply to.
 */
function createOpenWeights({ changes, ...parts }: WeightsParts): () => Promise<ServedWeights> {
  const { config, inputs, folder, onNotice } = parts;
  let pending = changes;
  let takesOver = parts.takesOver;
  const onLoad = async (step: number): Promise<void> => {
    if (pending.length === 0) return;
    const told = pending;
    pending = [];
    const configYaml = inputs.composition.format(config);
    await recordChanges(folder, told, { firstStep: step + 1, configYaml, code: hashCode(config), onNotice });
  };
  return async () => {
    try {
      if (takesOver) await folder.takeOver();
      takesOver = false;
      await folder.recordModel(parts.modelDir);
      return await openServedWeights({ ...parts, onLoad });
    } catch (error) {
      // If this start made the folder and the run never began, the folder is removed, so that it does not count as the
      // newest run.
      if (!parts.isResumed && !hasLedger(parts.storeDir)) await rm(parts.runDir, { recursive: true, force: true });
      throw error;
    }
  };
}
