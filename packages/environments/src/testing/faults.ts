import { setTimeout as wait } from 'node:timers/promises';
import { createRandom } from '@agentjet/core';

/** Faults of one request: it is not received, or its answer is lost, late, repeated, cut, or replaced by something else. */
export const faults = ['drop', 'lose', 'delay', 'repeat', 'cut', 'error', 'nonsense'] as const;

/** Answers of a hostile server: 100 MB, nested lists, single bytes without an end, or the answer to another session. */
export const attacks = ['flood', 'nest', 'drip', 'foreign'] as const;
export type Attack = (typeof attacks)[number];

export type Fault = (typeof faults)[number] | Attack | 'none';

/** Decides about each request by its kind: `open`, `act`, `evaluate`, `close`, `tasks`. */
export type FaultPlan = (kind: RequestKind) => Fault;
export type RequestKind = 'open' | 'act' | 'evaluate' | 'close' | 'tasks';

export const noFaults: FaultPlan = () => 'none';

/** Puts faults into this share of the requests, the same ones for the same seed. */
export function randomFaults({ seed, share }: { readonly seed: number; readonly share: number }): FaultPlan {
  const random = createRandom(seed);
  return () => (random.next() < share ? (faults[random.int(faults.length)] ?? 'none') : 'none');
}

/** Puts this fault into the first request of the kind. */
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
