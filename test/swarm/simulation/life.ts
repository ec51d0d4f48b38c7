import type { Host } from '@agentjet/ledger';
import type { World } from './world.js';

/**
 * The life of a process, from its start to its end. After it is killed, its timers never fire and its promises never
 * settle.
 */
export class Life {
  readonly host: Host;
  readonly world: World;
  isAlive = true;
  /** By how much its clock has jumped ahead. */
  jumpedMs = 0;

  constructor(world: World, skew = 1) {
    this.world = world;
    const born = world.now;
    this.host = {
      now: () => (world.now - born) * skew + this.jumpedMs,
      after: (ms, action) =>
        world.after(ms, () => {
          if (this.isAlive) action();
        }),
      random: world.random,
    };
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.host.after(ms, resolve));
  }

  kill(): void {
    this.isAlive = false;
  }
}
