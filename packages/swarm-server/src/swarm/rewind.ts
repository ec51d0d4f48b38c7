import { BackboneError, ConfigError } from '@agentjet/core';
import { named } from '@agentjet/ledger';
import type { SwarmContext } from './swarm-context.js';

/** One step for all policies, or one step for each policy. */
export type RewindTo = number | Readonly<Record<string, number>>;

/** Goes back to a step. Later steps become void, and their episodes are dropped as `rewound`. */
export function rewind({ ledger, line, policy }: SwarmContext, to: RewindTo = Infinity): void {
  const toStep = typeof to === 'number' ? to : (to[policy] ?? Infinity);
  if (toStep >= line.step) return;
  const incarnation = { kind: 'incarnation' as const, ...named(policy), value: line.incarnation + 1 };
  ledger.append({ kind: 'rewound', ...named(policy), toStep }, incarnation);
}

/**
 * Throws BackboneError `checkpoint` if a policy has no complete checkpoint of the step. Throws ConfigError
 * `wrong_value` for an unknown policy.
 */
export async function requireRewind(policies: readonly SwarmContext[], to: RewindTo | undefined): Promise<void> {
  if (to === undefined) return;
  const names = policies.map(({ policy }) => policy);
  const unknown = typeof to === 'number' ? undefined : Object.keys(to).find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new ConfigError('wrong_value', `--from names the policy "${unknown}"; there is ${names.join(', ')}.`);
  for (const { policy, trainer } of policies) {
    const step = typeof to === 'number' ? to : to[policy];
    const known = (await trainer.checkpoints()).filter((each) => each > 0).sort((a, b) => a - b);
    if (step === undefined || step === 0 || known.includes(step)) continue;
    const there =
      known.length === 0 ? 'there is none yet' : `there is ${known.map((each) => `step-${each}`).join(', ')}`;
    const ofPolicy = policies.length === 1 ? '' : ` of the policy "${policy}"`;
    throw new BackboneError(
      'checkpoint',
      `--from is step-${step}, and there is no whole checkpoint${ofPolicy} of that step; ${there}. Name one of them, or leave --from out.`,
    );
  }
}

/**
 * Parses `step-20`, or `planner=step-20,worker=step-40` for some of several policies. Throws ConfigError `wrong_value`.
 */
export function parseRewind(text: string): RewindTo {
  if (!text.includes('=')) return toStep(text);
  return Object.fromEntries(
    text.split(',').map((part) => {
      const [policy = '', step = ''] = part.split('=');
      return [policy.trim(), toStep(step.trim())] as const;
    }),
  );
}

function toStep(text: string): number {
  const step = /^step-0*(\d+)$/.exec(text)?.[1];
  if (step !== undefined) return Number(step);
  throw new ConfigError('wrong_value', `--from is ${JSON.stringify(text)}; name a checkpoint, such as step-20.`);
}
