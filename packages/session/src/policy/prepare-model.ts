import { BackboneError, sectionOf, type CommonConfig } from '@agentjet/core';
import { readModelConfig } from '@agentjet/trainer';
import type { JobListener } from '../events.js';
import type { BackboneEntry } from '../inputs/job-inputs.js';
import { readAvailableMemory, type AvailableMemory } from '../needs/available-memory.js';
import { describeNeed, describeParts, waysOut } from '../needs/describe-need.js';
import { judgeNeed, type Verdict } from '../needs/judge-need.js';
import { readGpus } from '../needs/read-gpus.js';
import { formatBytes } from '../quantities.js';
import { resolveModelDir } from './model-dir.js';

export type PreparedModel = {
  /** In the layout of transformers. */
  readonly modelDir: string;
  /** Parameters, memory and time, in a few words; undefined if the backbone cannot tell. */
  readonly summary: string | undefined;
};

type PrepareOptions = {
  readonly emit: JobListener;
  readonly signal?: AbortSignal | undefined;
  /** False: it only samples. */
  readonly trains: boolean;
  /** Instead of what this machine has. */
  readonly memory?: AvailableMemory;
};

/**
 * The folder of the job's model, downloaded if need be. To be called before anything is opened or written. A model that does not
 * fit is refused before its weights are downloaded: BackboneError `not_enough_memory`.
 */
export async function prepareModel(
  config: CommonConfig,
  backbone: BackboneEntry,
  { emit, signal, trains, memory = readAvailableMemory() }: PrepareOptions,
): Promise<PreparedModel> {
  const onNotice = (message: string): void => emit({ type: 'notice', message });
  const { readsWeights = true } = backbone;
  const { path: modelPath } = config.model;
  const described = await resolveModelDir(modelPath, { withWeights: false, signal, onNotice });
  const verdict = await judgeJob(described, { config, backbone, trains, memory });
  if (verdict !== undefined) checkVerdict(verdict, { config, trains, onNotice });
  const modelDir = readsWeights ? await resolveModelDir(modelPath, { signal, onNotice }) : described;
  return { modelDir, summary: verdict && describeNeed(verdict) };
}

type JudgedJob = {
  readonly config: CommonConfig;
  readonly backbone: BackboneEntry;
  readonly trains: boolean;
  readonly memory: AvailableMemory;
};

async function judgeJob(
  modelDir: string,
  { config, backbone, trains, memory }: JudgedJob,
): Promise<Verdict | undefined> {
  if (backbone.estimate === undefined) return undefined;
  const model = await readModelConfig(modelDir);
  if (model === undefined) return undefined; // opening the folder says what is wrong with it
  const found = backbone.name === 'torch' ? await readGpus() : null;
  const gpus = found && { ...found, count: Math.min(found.count, config.trainerCommon.nGpusPerNode) };
  const machine = { memory, gpus };
  const section = sectionOf(config, 'backbones', backbone);
  return judgeNeed({ backbone, config, section, model, trains, machine });
}

type CheckOptions = {
  readonly config: CommonConfig;
  readonly trains: boolean;
  readonly onNotice: (message: string) => void;
};

function checkVerdict(verdict: Verdict, { config, trains, onNotice }: CheckOptions): void {
  const { need, neededBytes, available, fits, packTokens } = verdict;
  if (available === null || fits === null) return;
  if (fits) {
    if (packTokens === null || need.fullPackBytes === null) return;
    return onNotice(
      `A pack of ${config.trainerCommon.maxPackTokens} tokens would need ${formatBytes(need.fullPackBytes)} of ${formatBytes(available.bytes)}. If all episodes are so long, set trainer_common.max_pack_tokens=${packTokens}.`,
    );
  }
  const doing = trains ? 'To train' : 'To open';
  const place =
    need.place === 'gpu'
      ? 'of each GPU'
      : available.limitedBy === 'container'
        ? 'in this container'
        : 'on this machine';
  const ways = waysOut(verdict, config, trains).map((way) => `\n  - ${way}`);
  const message =
    `${doing} ${config.model.path} (${describeNeed(verdict).split(',')[0]}) takes about ${formatBytes(neededBytes)} of memory (${Math.ceil(neededBytes)} bytes), ` +
    `and ${formatBytes(available.bytes)} (${available.bytes} bytes) are available ${place}. It goes to: ${describeParts(verdict)}. Ways out:${ways.join('')}`;
  if (config.model.memoryCheck === 'warn') return onNotice(message);
  throw new BackboneError('not_enough_memory', `${message}\n  - model.memory_check=warn starts it all the same`);
}
