import { setTimeout as wait } from 'node:timers/promises';
import { createRandom } from '@agentjet/core';

/** What goes wrong with one request: nothing; it is not received; its answer gets lost, comes late, twice, cut, or is something else. */
export const faults = ['drop', 'lose', 'delay', 'repeat', 'cut', 'error', 'nonsense'] as const;

/** What a hostile server answers: 100 MB, lists in lists, a byte now and then without end, the answer to another session. */
export const attacks = ['flood', 'nest', 'drip', 'foreign'] as const;
export type Attack = (typeof attacks)[number];

export type Fault = (typeof faults)[number] | Attack | 'none';

/** Decides about each request, by what it asks for: `open`, `act`, `evaluate`, `close`, `tasks`. */
export type FaultPlan = (kind: RequestKind) => Fault;
export type RequestKind = 'open' | 'act' | 'evaluate' | 'close' | 'tasks';

export const noFaults: FaultPlan = () => 'none';

/** Faults in this share of the requests, the same ones for the same seed. */
export function randomFaults({ seed, share }: { readonly seed: number; readonly share: number }): FaultPlan {
  const random = createRandom(seed);
  return () => (random.next() < share ? (faults[random.int(faults.length)] ?? 'none') : 'none');
}

/** This fault once, for the first request of the kind. */
export function faultOnce(kind: RequestKind, fault: Fault): FaultPlan {
  let isDone = false;
  return (asked) => {
    if (isDone || asked !== kind) return 'none';
    isDone = true;
    return fault;
  };
}

const delayMs = 5;
export const delay = (): Promise<void> => wait(delayMs);
