import type { CommonConfig, Registration, z } from '@agentjet/core';
import type { Environment } from './environment.js';

/** What every environment is opened with besides its own section. */
export type EnvironmentParts = { readonly config: CommonConfig };

export type EnvironmentRegistration<
  Name extends string = string,
  Section extends z.ZodObject = z.ZodObject,
  Flat extends boolean = boolean,
> = Registration<Name, Section, EnvironmentParts, Environment, Flat>;

/** An environment that `environment.protocol:` may name, or that `setEnvironment()` takes. */
export function defineEnvironment<const Name extends string, Section extends z.ZodObject, Flat extends boolean = false>(
  registration: EnvironmentRegistration<Name, Section, Flat>,
): EnvironmentRegistration<Name, Section, Flat> {
  return registration;
}
