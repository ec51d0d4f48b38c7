import type { z } from 'zod';
import type { Backbone, OptimizerOptions } from './backbone.js';
import type { CommonConfig } from './config/compose-schema.js';
import type { Registration } from './config/registration.js';

/** What a backbone can do, so that nobody asks for its name. */
export type BackboneCapabilities = {
  /** What `trainStep` wants: token trees, or one row after another. */
  readonly takes: 'packs' | 'rows';
  /** The same seed gives the same metrics. */
  readonly repeatsSeed: boolean;
  readonly reportsGradNorm: boolean;
  /** The values of `trainer_common.loss_mode` that it computes. */
  readonly losses: readonly CommonConfig['trainerCommon']['lossMode'][];
  /** Its engine hands out tokens while it samples. */
  readonly streams: boolean;
};

/** What every backbone is opened with besides its own section. */
export type BackboneParts = {
  readonly config: CommonConfig;
  /** Folder in the Hugging Face layout. */
  readonly modelDir: string;
  /** Without it, the backbone only samples. */
  readonly optimizer?: OptimizerOptions;
  /** Tells the user something that takes time or went differently. */
  notice(message: string): void;
};

export type BackboneRegistration<
  Name extends string = string,
  Section extends z.ZodObject = z.ZodObject,
  Flat extends boolean = boolean,
> = Registration<Name, Section, BackboneParts, Backbone, Flat> & { readonly capabilities: BackboneCapabilities };

/** A backbone that `backbone:` may name, or that `new AgentJetJob({ backbone })` takes. */
export function defineBackbone<const Name extends string, Section extends z.ZodObject, Flat extends boolean = false>(
  registration: BackboneRegistration<Name, Section, Flat>,
): BackboneRegistration<Name, Section, Flat> {
  return registration;
}
