import type { z } from 'zod';
import type { CommonConfig } from './config/compose-schema.js';
import type { Registration } from './config/registration.js';
import type { Algorithm } from './sample.js';

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
