import type { CommonConfig } from './config/compose-schema.js';
import { isJsonObject, type JsonObject } from './json-object.js';

/** What a job would need, told from config.json and the configuration alone: before weights are downloaded or read. */

export type NeedRequest = {
  readonly config: CommonConfig;
  /** The backbone's own settings, in camelCase. */
  readonly section: Readonly<Record<string, unknown>>;
  /** config.json of the model. */
  readonly model: JsonObject;
  /** False: it only samples. */
  readonly trains: boolean;
  readonly cores: number;
  /** Null: a machine without GPUs. */
  readonly gpus: Gpus | null;
  /** Instead of what the configuration allows: the longest sample in tokens, or the largest pack. */
  readonly longestSample?: number;
  readonly packTokens?: number;
};

/** GPUs of one kind, all used. */
export type Gpus = {
  readonly count: number;
  /** Of each. */
  readonly bytes: number;
  /** As the driver says it; null if the machine was only described. */
  readonly name: string | null;
};

export type MemoryPart = {
  readonly name: string;
  readonly bytes: number;
  /** Of them, what this process holds once, however many models it opens. Default: none. */
  readonly sharedBytes?: number;
};

export type ResourceNeed = {
  readonly numParameters: number;
  /** `host`: this machine's memory. `gpu`: that of each GPU. `none`: the model is elsewhere. */
  readonly place: 'host' | 'gpu' | 'none';
  /** What adds up to the peak with the largest tree of a step, and with one sample as long as the configuration allows. */
  readonly parts: readonly MemoryPart[];
  /**
   * The peak if a pack is as large as `trainer_common.max_pack_tokens` allows, and all of its samples are as long as they may be;
   * null if nothing is trained.
   */
  readonly fullPackBytes: number | null;
  /**
   * Of one step if each answer is as long as the configuration allows; on GPUs of its training alone. Null if nothing is
   * trained, or if it cannot be said.
   */
  readonly stepSeconds: number | null;
  /** Why a step's time cannot be said, as a clause. */
  readonly timeUnknown?: string;
  /** Whether the first step also compiles, which takes longer than a step; default false. */
  readonly compiles?: boolean;
};

/** The part of config.json that describes the text model: of a model with several kinds of input a section, else the whole. */
export function textConfigOf(config: JsonObject): JsonObject {
  return isJsonObject(config['text_config']) ? config['text_config'] : config;
}

/** Throws BackboneError `unsupported_model`. */
export type EstimateNeed = (request: NeedRequest) => ResourceNeed;

/** Bytes of all parts. */
export function sumParts(parts: readonly MemoryPart[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}
