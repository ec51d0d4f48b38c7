import { describeWait } from './describe-waits.js';
import type { SwarmContext } from './swarm-context.js';

/** Looks twice a second at what the next steps wait for, so that an answer can say for how long. */
export class WaitWatch {
  readonly #context: SwarmContext;
  #nextMs = -Infinity;

  constructor(context: SwarmContext) {
    this.#context = context;
  }

  look(): void {
    const { host, policies } = this.#context;
    const now = host.now();
    if (now < this.#nextMs) return;
    this.#nextMs = now + 500;
    for (const each of policies) describeWait(each);
  }
}
