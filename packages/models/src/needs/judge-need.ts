import {
  sumParts,
  type CommonConfig,
  type EstimateNeed,
  type Gpus,
  type JsonObject,
  type ResourceNeed,
} from '@agentjet/core';
import { availableParallelism } from 'node:os';
import type { BackboneEntry } from '@agentjet/inputs';
import type { AvailableMemory } from './available-memory.js';

/** This file compares the needs of a job with the available memory, and says what would fit instead. */

export type NeedVerdict = {
  readonly need: ResourceNeed;
  readonly neededBytes: number;
  /** The memory of this machine or of one GPU. Null if the model runs elsewhere or the GPUs are unknown. */
  readonly available: AvailableMemory | null;
  /** Whether the model fits. Null if the machine that would run it is unknown. */
  readonly fits: boolean | null;
  /**
   * The number of parameters of the largest model of a similar shape that fits. Null if this model fits or the memory
   * is unknown.
   */
  readonly largestParameters: number | null;
  /**
   * The number of tokens of the largest pack that fits. It is 0 if not even one sample fits, and null if all packs fit.
   */
  readonly packTokens: number | null;
  /**
   * The length of the longest sample that fits if a pack holds only this sample. It is 0 if no sample fits, and null if
   * samples need not be shorter.
   */
  readonly longestSample: number | null;
  /**
   * The length of the longest sample that fits if a pack holds two of them. It is 0 if no sample fits, and null if
   * samples need not be shorter.
   */
  readonly shorterSample: number | null;
  /** Memory-saving settings of the backbone that are off, such as `torch.cpu_offload=true`. */
  readonly memorySavers: readonly string[];
  /** Whether the backbone could train an adapter (LoRA) instead of all weights. */
  readonly couldAdapt: boolean;
};

export type Machine = { readonly memory: AvailableMemory; readonly gpus: Gpus | null };

export type JudgeOptions = {
  readonly backbone: BackboneEntry;
  /** The result of `backbone.loadEstimate()`. */
  readonly estimate: EstimateNeed;
  readonly config: CommonConfig;
  readonly section: Readonly<Record<string, unknown>>;
  /** config.json. */
  readonly model: JsonObject;
  /** config.json of the teacher, if one is opened on this machine. */
  readonly teacher?: JsonObject | undefined;
  readonly trains: boolean;
  readonly machine: Machine;
  /** The memory that other processes leave free on the model's device. It replaces the machine's total. */
  readonly left?: AvailableMemory | undefined;
};

type Sizes = { readonly longestSample?: number; readonly packTokens?: number };

/** Throws BackboneError `unsupported_model`. */
export function judgeNeed(options: JudgeOptions): NeedVerdict {
  const { machine, config, left } = options;
  const { gpus } = machine;
  const estimate = (sizes: Sizes = {}): ResourceNeed =>
    options.estimate({ ...options, ...sizes, cores: availableParallelism(), gpus });
  const need = estimate();
  const neededBytes = sumParts(need.parts);
  const available = left ?? placeOf(need, machine);
  const memorySavers = findMemorySavers(options);
  const couldAdapt = config.lora.rank === 0 && options.backbone.allows?.['lora.rank'] === undefined;
  if (available === null)
    return {
      need,
      neededBytes,
      available,
      fits: need.place === 'none' ? true : null,
      largestParameters: null,
      packTokens: null,
      longestSample: null,
      shorterSample: null,
      memorySavers,
      couldAdapt,
    };
  const holds = (sizes: Sizes): boolean => bytesOf(estimate(sizes), sizes) <= available.bytes;
  const fits = neededBytes <= available.bytes;
  const { maxPackTokens } = config.trainerCommon;
  const packFits = need.fullPackBytes === null || need.fullPackBytes <= available.bytes;
  const packTokens = packFits ? null : largestThat((tokens) => holds({ packTokens: tokens }), maxPackTokens);
  const longest = (): number =>
    largestThat((tokens) => holds({ longestSample: tokens, packTokens: tokens }), maxPackTokens);
  const shorter = (): number =>
    largestThat((tokens) => holds({ longestSample: tokens, packTokens: 2 * tokens }), Math.floor(maxPackTokens / 2));
  return {
    need,
    neededBytes,
    available,
    fits,
    largestParameters: fits ? null : largestParameters(need, available.bytes),
    packTokens,
    longestSample: fits || (packTokens ?? 0) > 0 ? null : longest(),
    shorterSample: fits ? null : shorter(),
    memorySavers,
    couldAdapt,
  };
}

function findMemorySavers({ backbone, section }: JudgeOptions): readonly string[] {
  const names = { activation_checkpointing: 'activationCheckpointing', cpu_offload: 'cpuOffload' };
  return Object.entries(names).flatMap(([key, name]) =>
    key in (backbone.section?.shape ?? {}) && section[name] !== true ? [`${backbone.name}.${key}=true`] : [],
  );
}

function placeOf(need: ResourceNeed, { memory, gpus }: Machine): AvailableMemory | null {
  if (need.place === 'host') return memory;
  return need.place === 'none' || gpus === null ? null : { bytes: gpus.bytes, limitedBy: 'machine' };
}

function bytesOf(need: ResourceNeed, { packTokens }: Sizes): number {
  const ofTrees = sumParts(need.parts);
  return packTokens === undefined ? ofTrees : (need.fullPackBytes ?? ofTrees);
}

const isOfTokens = /activations|keys and values|process|CUDA|vLLM|sampling$/;

/**
 * Estimates the largest model that fits. Some memory is proportional to the number of parameters, and the memory of
 * activations is proportional to its square root.
 */
function largestParameters({ parts, numParameters }: ResourceNeed, bytes: number): number {
  const fixed = sumParts(parts.filter(({ name }) => /process|CUDA|vLLM|sampling$/.test(name)));
  const ofTokens = sumParts(parts.filter(({ name }) => isOfTokens.test(name))) - fixed;
  const ofWeights = sumParts(parts) - fixed - ofTokens;
  const holds = (share: number): boolean => fixed + share * ofWeights + Math.sqrt(share) * ofTokens <= bytes;
  return (largestThat((thousandth) => holds(thousandth / 1000), 1000) / 1000) * numParameters;
}

/**
 * Returns the largest whole number up to `most` for which `holds` is true, or 0 if there is none. If `holds` is true
 * for a number, it must be true for all smaller numbers.
 */
function largestThat(holds: (value: number) => boolean, most: number): number {
  let [low, high] = [0, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
