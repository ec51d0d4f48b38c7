import type { CommonConfig, ConfigComposition } from '@agentjet/core';
import { WireError } from '@agentjet/swarm-wire';
import { createPolicyConfigs } from './policy-configs.js';

type Own = {
  readonly composition: ConfigComposition;
  /** The server's own values. They are allowed. */
  readonly own: CommonConfig;
};

/**
 * Refuses a configuration from another machine if it names code, programs, files, folders, addresses or environment
 * variables. The settings of each policy are checked too.
 * @throws WireError `code_refused`
 */
export function requireNoReach(config: CommonConfig, { composition, own }: Own): void {
  refuse('', { composition, own, config });
  const known = new Map(createPolicyConfigs(own, composition).map((policy) => [policy.name, policy.config]));
  const isOnly = Object.keys(config.swarm.policies).length === 0;
  for (const policy of createPolicyConfigs(config, composition)) {
    const parts = { composition, own: known.get(policy.name) ?? own, config: policy.config };
    refuse(isOnly ? '' : `swarm.policies.${policy.name}.`, parts);
  }
}

function refuse(prefix: string, { composition, own, config }: Own & { readonly config: CommonConfig }): void {
  const [first] = composition.findReaching(withoutPolicies(config), withoutPolicies(own));
  if (first === undefined) return;
  const said = first.isSecret ? 'is set' : `is ${JSON.stringify(first.value).slice(0, 200)}`;
  throw new WireError(
    'code_refused',
    `${prefix}${first.key} ${said}. A run that is begun from another machine names only what is registered on the server, and no code, program, file, folder, address or secret. Leave it out, or start the server with --allow-code.`,
  );
}

const withoutPolicies = (config: CommonConfig): CommonConfig => ({
  ...config,
  swarm: { ...config.swarm, policies: {} },
});
