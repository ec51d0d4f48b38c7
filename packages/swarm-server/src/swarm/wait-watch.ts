import { describeWait } from './describe-waits.js';
import type { SwarmContext } from './swarm-context.js';

/** How often it looks while the swarm changes. */
const busyMs = 500;
/** How often it looks while nothing changes, because clients may go silent and a disk may fill. */
const idleMs = 5000;

/** Looks from time to time at what the next steps wait for, so that an answer can say for how long. */
export class WaitWatch {
  readonly #context: SwarmContext;
  readonly #look: (policy: SwarmContext) => void;
  #lookedMs = -Infinity;
  #change = -1;

  constructor(context: SwarmContext, look: (policy: SwarmContext) => void = describeWait) {
    this.#context = context;
    this.#look = look;
  }

  look(): void {
    const { host, policies, changes } = this.#context;
    const sinceMs = host.now() - this.#lookedMs;
    if (sinceMs < (changes.number === this.#change ? idleMs : busyMs)) return;
    this.#lookedMs = host.now();
    this.#change = changes.number;
    for (const each of policies) this.#look(each);
  }
}
