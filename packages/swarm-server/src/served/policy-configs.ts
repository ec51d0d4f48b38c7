import { ConfigError, toSnakeCase, type CommonConfig, type ConfigComposition, type JsonObject } from '@agentjet/core';

/**
 * This file makes the configuration of each policy from the configuration of the run and the policy's settings in
 * `swarm.policies`.
 */

export type PolicyConfig = { readonly name: string; readonly config: CommonConfig };

/** The name of a run's only policy. */
const onlyPolicy = 'default';

/**
 * Returns the policies in the order of the configuration, or only `default` if it names none.
 * @throws ConfigError if a policy names no agents, two policies claim the same agents, or a policy changes a setting of
 * the whole run
 */
export function createPolicyConfigs(config: CommonConfig, composition: ConfigComposition): readonly PolicyConfig[] {
  const entries = Object.entries(config.swarm.policies);
  if (entries.length === 0) return [{ name: onlyPolicy, config }];
  requireCollection(config.swarm.sampleCollection);
  const policies = entries.map(([key, values]) => {
    const name = toSnakeCase(key);
    const own = composition.overlay(config, values as JsonObject, `swarm.policies.${name}`);
    requireOwn(name, { config, own, composition });
    return { name, config: { ...own, swarm: { ...own.swarm, policies: {} } } };
  });
  requireAgents(policies);
  return policies;
}

/** Keys that define an episode, and keys that all agents of an episode share. A policy cannot set them. */
const ofTheRun =
  /^(task_reader|task_judge|environment|swarm|experiment_name|experiment_dir|project_name|debug|sft|trainer_common\.(total_epochs|test_freq|val_before_train|val_pass_n|evaluation_patience|keep_best|logger)|rollout\.(num_repeat|max_env_worker|episode_timeout|failed_episode_policy|min_group_share|refill_groups|max_attempts|max_outage|straggler_patience|score_patience|record|workflow_processes|group_patience|multi_turn|user_workflow))(\.|$)/;

type Own = {
  readonly config: CommonConfig;
  readonly own: CommonConfig;
  readonly composition: ConfigComposition;
};

function requireOwn(name: string, { config, own, composition }: Own): void {
  for (const { key } of composition.compare(config, own)) requireOwnKey(name, key);
}

/** Throws ConfigError if a policy cannot have its own value for a key. */
export function requireOwnKey(policy: string, key: string): void {
  if (!ofTheRun.test(key)) return;
  throw new ConfigError(
    'wrong_value',
    `swarm.policies.${policy} sets ${key}, which concerns the whole run, because an episode is the same for all policies. Set it outside of swarm.policies.`,
  );
}

/** Throws ConfigError if a run with several policies cannot use this rule of `swarm.sample_collection`. */
export function requireCollection(name: string): void {
  if (!name.includes('client')) return;
  throw new ConfigError(
    'wrong_value',
    `swarm.sample_collection is ${name}, and the clients ask for the steps of one policy only. Use enough_tasks with swarm.policies.`,
  );
}

function requireAgents(policies: readonly PolicyConfig[]): void {
  const owners = new Map<string, string>();
  for (const { name, config } of policies) {
    const targets = config.trainableTargets;
    if (targets === null)
      throw new ConfigError(
        'wrong_value',
        `swarm.policies.${name} names no agents. Add trainable_targets: the target tags, or names, of the agents that it trains.`,
      );
    for (const target of targets) {
      const other = owners.get(target);
      if (other !== undefined)
        throw new ConfigError(
          'wrong_value',
          `The target "${target}" belongs to two policies, ${other} and ${name}. Name it in trainable_targets of one of them.`,
        );
      owners.set(target, name);
    }
  }
  for (const { name } of policies) {
    const owner = owners.get(name);
    if (owner !== undefined && owner !== name)
      throw new ConfigError(
        'wrong_value',
        `"${name}" is a policy, and a target of the policy "${owner}": a reward for it would be for both. Rename one of them.`,
      );
  }
}
