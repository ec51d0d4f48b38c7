import { ConfigError, toSnakeCase, type CommonConfig } from '@agentjet/core';

/**
 * Throws ConfigError `several_policies` if the configuration names several models. `does` says what the command does
 * with one model, and `repair` what to do for several.
 */
export function requireOnePolicy({ swarm, backbone }: CommonConfig, { does, repair }: OnlyOne): void {
  const names = Object.keys(swarm.policies).map(toSnakeCase);
  if (names.length === 0 || backbone === 'debug') return;
  throw new ConfigError('several_policies', `swarm.policies names ${names.join(', ')}, and ${does}. ${repair}`);
}

type OnlyOne = { readonly does: string; readonly repair: string };
