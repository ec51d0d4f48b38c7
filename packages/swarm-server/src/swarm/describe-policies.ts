import type { ServerAnswer, TrainingEvent } from '@agentjet/swarm-wire';
import { describeProgress } from './describe-progress.js';
import { isRunDone } from './run-done.js';
import { flyingOf, hasPolicies, isComplete, isDown, type SwarmContext } from './swarm-context.js';

/**
 * Returns the state of the server as a word for people. If one of several policies fails, the server counts as failed
 * only if all others have failed too. The entry of the policy names its problem.
 */
export function stateName(context: SwarmContext): ServerAnswer['state'] {
  const { policies, ledger } = context;
  const { isPaused, isDraining, isStopped } = ledger.state.operation;
  const alive = policies.filter((each) => !isDown(each));
  const isOpening = policies.some(({ weights }) => weights.version < 0 && weights.phase === 'recovering');
  if (policies.every(({ weights }) => weights.phase === 'failed'))
    // Models that failed without a `problem` are opened again soon.
    return policies.every(({ health }) => health.problem !== undefined) ? 'failed' : 'recovering';
  if (isOpening || alive.length === 0) return 'recovering';
  if (isStopped) return 'offline';
  if (isPaused) return 'paused';
  if (isRunDone(context)) return 'complete';
  if (isDraining) return 'draining';
  return alive.some(({ weights }) => weights.phase === 'updating') ? 'updating' : 'rolling';
}

type PolicyAnswers = NonNullable<ServerAnswer['policies']>;

/** If the run has one policy, the result has only the problem, because the server's other fields have the rest. */
export function describePolicies(context: SwarmContext): Pick<ServerAnswer, 'policies' | 'problem'> {
  const { problem } = context.health;
  if (!hasPolicies(context)) return problem === undefined ? {} : { problem };
  return { policies: Object.fromEntries(context.policies.map((each) => [each.policy, describePolicy(each)])) };
}

function describePolicy(context: SwarmContext): PolicyAnswers[string] {
  const { ledger, policy, line, weights, gate, health } = context;
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
    ...describeProgress(context),
    gate_wait_seconds: gate.waitedMs / 1000,
    ...(health.problem !== undefined && { problem: health.problem }),
  };
}

/** Returns the training state of each policy. A policy that has stopped also has its `problem`. */
export function describeTraining(context: SwarmContext): readonly TrainingEvent[] {
  return context.policies.map((each) => {
    const { problem } = each.health;
    const named = hasPolicies(context) ? { policy: each.policy } : {};
    return { ...named, state: trainingState(each), ...(problem !== undefined && { problem }) };
  });
}

function trainingState(context: SwarmContext): TrainingEvent['state'] {
  const { weights, health } = context;
  if (health.problem !== undefined) return 'failed';
  if (weights.phase === 'recovering' || weights.phase === 'failed') return 'recovering'; // the model opens later
  return isComplete(context) && weights.phase === 'waiting' ? 'complete' : 'training';
}
