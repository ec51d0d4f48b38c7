import type { ServerAnswer } from '@agentjet/swarm-wire';
import { flyingOf, hasPolicies, isComplete, type SwarmContext } from './swarm-context.js';

/** What the server does, as people see it. */
export function stateName({ policies, ledger }: SwarmContext): ServerAnswer['state'] {
  const { isPaused, isDraining, isStopped } = ledger.state.operation;
  const isIn = (phase: SwarmContext['weights']['phase']): boolean =>
    policies.some(({ weights }) => weights.phase === phase);
  if (isIn('failed')) return 'failed';
  if (isIn('recovering')) return 'recovering';
  if (isStopped) return 'offline';
  if (isPaused) return 'paused';
  if (isDraining) return 'draining';
  return isIn('updating') ? 'updating' : 'rolling';
}

type PolicyAnswers = NonNullable<ServerAnswer['policies']>;

/** Nothing in a run with one policy: then it is said of the server itself. */
export function describePolicies(context: SwarmContext): Pick<ServerAnswer, 'policies'> {
  if (!hasPolicies(context)) return {};
  return { policies: Object.fromEntries(context.policies.map((each) => [each.policy, describePolicy(each)])) };
}

function describePolicy(context: SwarmContext): PolicyAnswers[string] {
  const { ledger, policy, line, weights, gate } = context;
  const { groups, trainable } = flyingOf(context).flight;
  const { droppedByReason, ...account } = ledger.accountOf(policy);
  return {
    state: isComplete(context) && weights.phase === 'waiting' ? 'complete' : weights.phase,
    step: line.step,
    version: Math.max(0, weights.version),
    incarnation: line.incarnation,
    groups_open: groups.size - trainable.size,
    groups_pooled: trainable.size,
    account,
    dropped_by_reason: { ...droppedByReason },
    gate_wait_seconds: gate.waitedMs / 1000,
  };
}
