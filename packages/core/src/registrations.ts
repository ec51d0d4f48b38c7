import type { z } from 'zod';
import type { Backbone, BackboneCapabilities, OptimizerOptions } from './backbone.js';
import type { CommonConfig } from './config/compose-schema.js';
import type { Registration } from './config/registration.js';
import type { EstimateNeed } from './resource-need.js';
import type { Algorithm } from './sample.js';

/** What every backbone is opened with besides its own section. */
export type BackboneParts = {
  readonly config: CommonConfig;
  /** Folder in the Hugging Face layout. */
  readonly modelDir: string;
  /** Without it, the backbone only samples. */
  readonly optimizer?: OptimizerOptions;
  /** Folder of a run that goes on after a restart, for what has to be the same then. */
  readonly runDir?: string;
  /** Of a user who stops while it opens: then it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Tells the user something that takes time or went differently. */
  notice(message: string): void;
};

export type BackboneRegistration<
  Name extends string = string,
  Section extends z.ZodObject = z.ZodObject,
  Flat extends boolean = boolean,
> = Registration<Name, Section, BackboneParts, Backbone, Flat> & {
  readonly capabilities: BackboneCapabilities;
  /** False: of the model's folder it takes the small files alone, so weights need not be there. True unless given. */
  readonly readsWeights?: boolean;
  /** Loads what says how much a job would need, before it starts; undefined: unknown. */
  loadEstimate?(): Promise<EstimateNeed>;
};

/** The settings that a backbone allows if it trains whole distributions only. */
const wholeDistribution = { 'rollout.top_p': [1], 'rollout.top_k': [-1, 0] };

/**
 * A backbone that `backbone:` may name, or that `new AgentJetJob({ backbone })` takes. A backbone without
 * `trainsTruncation` is never given truncated distributions.
 */
export function defineBackbone<const Name extends string, Section extends z.ZodObject, Flat extends boolean = false>(
  registration: BackboneRegistration<Name, Section, Flat>,
): BackboneRegistration<Name, Section, Flat> {
  if (registration.capabilities.trainsTruncation === true) return registration;
  return { ...registration, allows: { ...wholeDistribution, ...registration.allows } };
}

/** What every algorithm is opened with besides its own section. */
export type AlgorithmParts = { readonly config: CommonConfig };

export type AlgorithmRegistration<
  Name extends string = string,
  Section extends z.ZodObject = z.ZodObject,
  Flat extends boolean = boolean,
> = Registration<Name, Section, AlgorithmParts, Algorithm, Flat>;

/** An algorithm that `adv_estimator:` may name, or that `new AgentJetJob({ algorithm })` takes. */
export function defineAlgorithm<const Name extends string, Section extends z.ZodObject, Flat extends boolean = false>(
  registration: AlgorithmRegistration<Name, Section, Flat>,
): AlgorithmRegistration<Name, Section, Flat> {
  return registration;
}
