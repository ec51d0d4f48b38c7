import type { CommonConfig } from './config/compose-schema.js';
import { isJsonObject, type JsonObject } from './json-object.js';

/** Estimates what a job needs from config.json and the configuration alone, before weights are downloaded or read. */

export type NeedRequest = {
  readonly config: CommonConfig;
  /** The backbone's own settings, in camelCase. */
  readonly section: Readonly<Record<string, unknown>>;
  /** The content of the model's config.json. */
  readonly model: JsonObject;
  /** The content of the config.json of the teacher that scores this model's tokens, if there is one on this machine. */
  readonly teacher?: JsonObject | undefined;
  /** False if it only samples. */
  readonly trains: boolean;
  readonly cores: number;
  /** Null for a machine without GPUs. */
  readonly gpus: Gpus | null;
  /** The longest sample in tokens, or the largest pack. Replaces the limits of the configuration. */
  readonly longestSample?: number;
  readonly packTokens?: number;
  /** The lengths that episodes had. They replace guesses from the limits of the configuration. */
  readonly measured?: MeasuredLengths | undefined;
};

/** Lengths of episodes in tokens. */
export type MeasuredLengths = {
  readonly longestSample: number;
  /** The means over all episodes: of the tokens of their rows, and of the sampled ones among them. */
  readonly episodeTokens: number;
  readonly answerTokens: number;
};

/** GPUs of one kind. All of them are used. */
export type Gpus = {
  readonly count: number;
  /** Memory of each GPU. */
  readonly bytes: number;
  /** The name that the driver reports; null if the machine was only described. */
  readonly name: string | null;
};

export type MemoryPart = {
  readonly name: string;
  readonly bytes: number;
  /** The part of `bytes` that this process holds once, for any number of open models. Default: 0. */
  readonly sharedBytes?: number;
};

export type ResourceNeed = {
  readonly numParameters: number;
  /** Whether an adapter (LoRA) is trained in place of all weights. Default: as `lora.rank` says. */
  readonly trainsAdapter?: boolean;
  /** `host`: memory of this machine. `gpu`: memory of each GPU. `none`: the model is elsewhere. */
  readonly place: 'host' | 'gpu' | 'none';
  /** The parts of the peak memory: a step with the largest tree, in which one sample is as long as the configuration allows. */
  readonly parts: readonly MemoryPart[];
  /**
   * The peak if a pack is as large as `trainer_common.max_pack_tokens` allows and all of its samples have the maximum length.
   * Null if nothing is trained.
   */
  readonly fullPackBytes: number | null;
  /**
   * The peak of a model that only samples if its caches of keys and values are as large as they may become. Absent if it
   * is unknown.
   */
  readonly fullCacheBytes?: number;
  /**
   * Seconds of one step if each answer is as long as the configuration allows. On GPUs this counts training only. Null if nothing
   * is trained, or if the time is unknown.
   */
  readonly stepSeconds: number | null;
  /** The part of `stepSeconds` that training takes. Default: all of it. */
  readonly trainingSeconds?: number;
  /** The reason why a step's time is unknown, as a clause. */
  readonly timeUnknown?: string;
  /** Bytes of one checkpoint: the model and the state of the optimizer. Absent if it is kept elsewhere. */
  readonly checkpointBytes?: number;
  /**
   * Whether the first step also compiles, which takes longer than a step. True takes seconds to minutes, and `kernels`
   * alone take seconds. Default: false.
   */
  readonly compiles?: boolean | 'kernels';
};

/** Returns the part of config.json that describes the text model: a section if the model has several kinds of input, otherwise the whole. */
export function textConfigOf(config: JsonObject): JsonObject {
  return isJsonObject(config['text_config']) ? config['text_config'] : config;
}

/** Throws BackboneError `unsupported_model`. */
export type EstimateNeed = (request: NeedRequest) => ResourceNeed;

/** Returns the bytes of all parts together. */
export function sumParts(parts: readonly MemoryPart[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}
