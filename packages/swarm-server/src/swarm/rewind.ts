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
