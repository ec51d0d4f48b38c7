import { availableParallelism } from 'node:os';
import {
  BackboneError,
  sectionOf,
  type CommonConfig,
  formatBytes,
  type MeasuredLengths,
  quoteForShell,
} from '@agentjet/core';
import { readBaseModel, readModelConfig } from '@agentjet/trainer';
import type { JobListener } from '@agentjet/records';
import type { BackboneEntry } from '@agentjet/inputs';
import { readAvailableMemory, type AvailableMemory } from '../needs/available-memory.js';
import {
  describeDisk,
  describeForecast,
  describeNeed,
  describeParts,
  describePlace,
  waysOut,
} from '../needs/describe-need.js';
import { judgeNeed, type JudgeOptions, type NeedVerdict } from '../needs/judge-need.js';
import { readGpus } from '../needs/read-gpus.js';
import { describeTeacher } from './describe-teacher.js';
import { resolveModelDir } from './model-dir.js';

export type PreparedModel = {
  /** The config.json, in the layout of transformers. */
  readonly modelDir: string;
  /** Parameters, memory and time in a few words. Undefined if they are unknown for this backbone. */
  readonly summary: string | undefined;
  /** Undefined if the verdict is unknown for this backbone. */
  readonly numParameters: number | undefined;
  /** Whether an adapter (LoRA) is trained instead of all weights. */
  readonly trainsAdapter: boolean;
  /** The largest pack that fits into memory, if it is smaller than the configured one. See `withPacks`. */
  readonly packTokens?: number | undefined;
  /** Returns memory and time of a step in a few words. Undefined if they are unknown, or if nothing is trained on this machine. */
  readonly forecast?: ((measured: MeasuredLengths) => string) | undefined;
};

/** A model that fits if no other model is opened. Its weights may not be downloaded yet. */
export type JudgedModel = {
  /** Undefined if the verdict is unknown for this backbone. */
  readonly verdict: NeedVerdict | undefined;
  /** The verdict if other models leave this much memory on its device. */
  readonly judgeIn: (left: AvailableMemory) => NeedVerdict | undefined;
  /** Downloads the weights if they are missing. */
  readonly prepare: () => Promise<PreparedModel>;
};

export type JudgeModelOptions = {
  readonly emit: JobListener;
  readonly signal?: AbortSignal | undefined;
  /** False if the model only samples. */
  readonly trains: boolean;
  /** The memory to assume instead of the memory of this machine. */
  readonly memory?: AvailableMemory | undefined;
  /** The policy that a refusal names, if the run has several. */
  readonly policy?: string | undefined;
  /** The setting that a refusal suggests to start the model anyway. Default: `model.memory_check=warn`. */
  readonly override?: string | undefined;
};

/**
 * Checks whether the model fits into memory. For a model of the hub, it downloads only the small files. Throws
 * BackboneError `not_enough_memory`.
 */
export async function judgeModel(
  config: CommonConfig,
  backbone: BackboneEntry,
  { emit, signal, trains, memory = readAvailableMemory(), policy, override }: JudgeModelOptions,
): Promise<JudgedModel> {
  const onNotice = (message: string): void => emit({ type: 'notice', message });
  const { readsWeights = true } = backbone;
  const { path: modelPath } = config.model;
  const described = await resolveModelDir(modelPath, { withWeights: false, signal, onNotice });
  if (trains && readsWeights) await refuseAdapter(described);
  const teacher = trains ? await describeTeacher(config, { modelDir: described, signal, onNotice }) : undefined;
  const wanted = await readNeedRequest(described, { config, backbone, trains, memory, teacher });
  const packTokens = wanted && fittingPack(wanted, onNotice);
  const request = wanted && { ...wanted, config: withPacks(config, { packTokens }) };
  const judgeIn = (left?: AvailableMemory): NeedVerdict | undefined => request && judgeNeed({ ...request, left });
  const verdict = judgeIn();
  if (verdict !== undefined) checkVerdict(verdict, { config, trains, policy, override, onNotice });
  const prepare = async (): Promise<PreparedModel> => {
    const modelDir = readsWeights ? await resolveModelDir(modelPath, { signal, onNotice }) : described;
    const { numParameters, trainsAdapter = config.lora.rank > 0 } = verdict?.need ?? { numParameters: undefined };
    const disk = verdict && trains ? describeDisk(verdict.need, config.trainerCommon) : undefined;
    const ofTeacher = verdict?.need.parts.find(({ name }) => name === 'teacher');
    const summary =
      verdict &&
      [
        describeNeed(verdict),
        ...(ofTeacher ? [`${nameTeacher(config)} takes ${formatBytes(ofTeacher.bytes)} of it`] : []),
        ...(disk === undefined ? [] : [disk]),
      ].join('; ');
    const hasForecast = trains && verdict !== undefined && verdict.need.place !== 'none';
    const forecast = hasForecast && request !== undefined ? forecastOf(request) : undefined;
    return { modelDir, summary, numParameters, trainsAdapter, packTokens, forecast };
  };
  return { verdict, judgeIn, prepare };
}

/** A run that trains needs a whole model, which is also the reference of its KL term. */
async function refuseAdapter(modelDir: string): Promise<void> {
  const base = await readBaseModel(modelDir);
  if (base === undefined) return;
  throw new BackboneError(
    'bad_model_files',
    `${modelDir} is an adapter (LoRA) of ${base}, and a run trains a whole model. Merge the two with \`ajet export ${quoteForShell(modelDir)} <new folder>\`, and set model.path to the new folder. Or train the adapter further: set model.path to its model, and lora.adapter to ${modelDir}.`,
  );
}

const nameTeacher = ({ teacher }: CommonConfig): string =>
  teacher.model === null ? 'the initial model of use_kl_in_reward' : `the teacher ${teacher.model}`;

function forecastOf(request: JudgeOptions): (measured: MeasuredLengths) => string {
  const { gpus } = request.machine;
  return (measured) =>
    describeForecast(request.estimate({ ...request, cores: availableParallelism(), gpus, measured }));
}

/**
 * Returns the largest pack that fits into memory and reports it with a notice, if a full pack of the configured size does not
 * fit. Returns undefined if a full pack fits, or if not even one sample fits. The limits on prompts and answers are not changed.
 */
function fittingPack(request: JudgeOptions, onNotice: (message: string) => void): number | undefined {
  if (!request.trains) return undefined;
  const { need, available, packTokens } = judgeNeed(request);
  if (packTokens === null || packTokens === 0 || available === null || need.fullPackBytes === null) return undefined;
  onNotice(
    `Packs have at most ${packTokens} tokens instead of ${request.config.trainerCommon.maxPackTokens} (trainer_common.max_pack_tokens), because a full one would need ${formatBytes(need.fullPackBytes)} of ${formatBytes(available.bytes)}. The gradient stays the same, and samples are not shortened.`,
  );
  return packTokens;
}

/** Returns the configuration with packs that fit into memory. */
export function withPacks(config: CommonConfig, { packTokens }: Pick<PreparedModel, 'packTokens'>): CommonConfig {
  if (packTokens === undefined) return config;
  return { ...config, trainerCommon: { ...config.trainerCommon, maxPackTokens: packTokens } };
}

type JudgedJob = Pick<JudgeOptions, 'config' | 'backbone' | 'trains' | 'teacher'> & {
  readonly memory: AvailableMemory;
};

/** Reads what the estimate needs. Resolves with undefined if it is not known. */
export async function readNeedRequest(
  modelDir: string,
  { config, backbone, trains, memory, teacher }: JudgedJob,
): Promise<JudgeOptions | undefined> {
  const estimate = await backbone.loadEstimate?.();
  if (estimate === undefined) return undefined;
  const model = await readModelConfig(modelDir);
  if (model === undefined) return undefined; // opening the folder reports what is wrong with it
  const found = backbone.name === 'torch' ? await readGpus() : null;
  const gpus = found && { ...found, count: Math.min(found.count, config.trainerCommon.nGpusPerNode) };
  const section = sectionOf(config, 'backbones', backbone);
  return { backbone, estimate, config, section, model, teacher, trains, machine: { memory, gpus } };
}

type CheckOptions = {
  readonly config: CommonConfig;
  readonly trains: boolean;
  readonly policy: string | undefined;
  readonly override: string | undefined;
  readonly onNotice: (message: string) => void;
};

function checkVerdict(
  verdict: NeedVerdict,
  { config, trains, policy, override = 'model.memory_check=warn', onNotice }: CheckOptions,
): void {
  const { need, neededBytes, available, fits } = verdict;
  if (available === null) return;
  const { fullCacheBytes = 0 } = need;
  if (fits === true && fullCacheBytes > available.bytes)
    onNotice(
      `${config.model.path} needs about ${formatBytes(neededBytes)} of memory, but up to ${formatBytes(fullCacheBytes)} with many long calls at a time. ${formatBytes(available.bytes)} are available ${describePlace(need.place, available)}.`,
    );
  if (fits !== false) return;
  const doing = trains ? 'To train' : 'To open';
  const ways = waysOut(verdict, config, trains).map((way) => `\n  - ${way}`);
  const message =
    `${doing} ${config.model.path}${policy === undefined ? '' : ` for ${policy}`} (${describeNeed(verdict).split(',')[0]}) takes about ${formatBytes(neededBytes)} of memory (${Math.ceil(neededBytes)} bytes), ` +
    `and ${formatBytes(available.bytes)} (${available.bytes} bytes) are available ${describePlace(need.place, available)}. It goes to: ${describeParts(verdict)}. Ways out:${ways.join('')}`;
  if (config.model.memoryCheck === 'warn') return onNotice(message);
  throw new BackboneError('not_enough_memory', `${message}\n  - ${override} starts it anyway`);
}
