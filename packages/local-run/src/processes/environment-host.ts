import type { CommonConfig } from '@agentjet/core';
import type { Environment, EnvironmentHost } from '@agentjet/rollout';

/** Returns the environment with the time limits of the configuration, or undefined without an environment. */
export function toEnvironmentHost(
  { environment: limits }: Pick<CommonConfig, 'environment'>,
  environment: Environment | undefined,
): EnvironmentHost | undefined {
  if (environment === undefined) return undefined;
  return { environment, openTimeoutMs: limits.openTimeout * 1000, callTimeoutMs: limits.callTimeout * 1000 };
}
