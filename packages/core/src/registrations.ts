import type { z } from 'zod';
import type { Backbone, BackboneCapabilities, OptimizerOptions } from './backbone.js';
import type { CommonConfig } from './config/compose-schema.js';
import type { Registration } from './config/registration.js';
import type { EstimateNeed } from './resource-need.js';
import type { Algorithm } from './sample.js';

/** What every backbone gets in addition to its own section. */
export type BackboneParts = {
  readonly config: CommonConfig;
  /** Folder in the Hugging Face layout. */
  readonly modelDir: string;
  /** If absent, the backbone only samples. */
  readonly optimizer?: OptimizerOptions;
  /** The folder of the run. A backbone keeps facts in it that must be the same after a restart. */
  readonly runDir?: string;
  /** This signal aborts if the user stops the run. Opening the backbone then rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
  /** Informs the user of work that takes time, or of an unexpected choice. */
  notice(message: string): void;
};

/** What `defineBackbone` returns: the name, the settings, the parts and the capabilities of a backbone. */
export type BackboneRegistration<
  Name extends string = string,
  Section extends z.ZodObject = z.ZodObject,
  Flat extends boolean = boolean,
> = Registration<Name, Section, BackboneParts, Backbone, Flat> & {
  readonly capabilities: BackboneCapabilities;
  /** If false, the backbone reads only the small files of the model's folder, so the weights may be missing. Default: true. */
  readonly readsWeights?: boolean;
  /** Loads the function that estimates what a job needs, before the job starts. Undefined if the need is unknown. */
  loadEstimate?(): Promise<EstimateNeed>;
};

/** A backbone that trains only whole distributions allows no other values of these settings. */
const wholeDistribution = { 'rollout.top_p': [1], 'rollout.top_k': [-1, 0] };

/**
 * Defines a backbone that `backbone:` may name, or that `new AgentJetJob({ backbone })` takes. A backbone without
 * `trainsTruncation` never gets truncated distributions.
 */
export function defineBackbone<const Name extends string, Section extends z.ZodObject, Flat extends boolean = false>(
  registration: BackboneRegistration<Name, Section, Flat>,
): BackboneRegistration<Name, Section, Flat> {
  if (registration.capabilities.trainsTruncation === true) return registration;
  return { ...registration, allows: { ...wholeDistribution, ...registration.allows } };
}

/** What every algorithm gets in addition to its own section. */
export type AlgorithmParts = { readonly config: CommonConfig };

/** What `defineAlgorithm` returns: the name, the settings and the parts of an algorithm. */
export type AlgorithmRegistration<
  Name extends string = string,
  Section extends z.ZodObject = z.ZodObject,
  Flat extends boolean = boolean,
> = Registration<Name, Section, AlgorithmParts, Algorithm, Flat>;

/** Defines an algorithm that `adv_estimator:` may name, or that `new AgentJetJob({ algorithm })` takes. */
export function defineAlgorithm<const Name extends string, Section extends z.ZodObject, Flat extends boolean = false>(
  registration: AlgorithmRegistration<Name, Section, Flat>,
): AlgorithmRegistration<Name, Section, Flat> {
  return registration;
}
