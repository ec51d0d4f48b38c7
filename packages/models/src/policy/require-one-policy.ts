import { ConfigError, type CommonConfig } from '@agentjet/core';

/**
 * Throws ConfigError `several_policies` if the configuration names several models, because only a swarm server can
 * train several.
 */
export function requireOnePolicy({ swarm, backbone }: CommonConfig): void {
  const names = Object.keys(swarm.policies);
  if (names.length === 0 || backbone === 'debug') return;
  throw new ConfigError(
    'several_policies',
    `swarm.policies names ${names.length} models, and this command trains one. Serve them with \`ajet swarm serve --conf <file>\` and run the agents with \`ajet swarm run\`, or leave swarm.policies out.`,
  );
}
