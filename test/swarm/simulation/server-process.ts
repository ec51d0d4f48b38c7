import { toErrorMessage } from '@agentjet/core';
import { StoreError, type LedgerRecord } from '@agentjet/ledger';
import { MemoryStore, type MemoryDisk } from '@agentjet/ledger/testing';
import { Swarm, type TaskPort } from '@agentjet/swarm-server/swarm';
import type { Audit } from './audit.js';
import { Life } from './life.js';
import type { Listener, Network } from './network.js';
import { toSwarmSettings, type RunSettings } from './settings.js';
import { ToyTrainer, type ToyCheckpoints } from './toy-trainer.js';
import type { World } from './world.js';

/** A server that a supervisor starts again whenever it has ended, until another server has taken its store over. */
export class ServerProcess {
  readonly #shared: Shared;
  #life: Life;
  #listener: Listener | undefined;
  /** Trainers by policy. */
  readonly trainers = new Map<string, ToyTrainer>();
  isStopped = false;

  constructor(shared: Shared) {
    this.#shared = shared;
    this.#life = this.#start();
  }

  get isAlive(): boolean {
    return this.#life.isAlive;
  }

  get swarm(): Swarm | undefined {
    return this.#life.isAlive ? this.#listener?.swarm : undefined;
  }

  /** Waits as long as the model takes for an answer. */
  async think(): Promise<void> {
    await this.#life.wait(this.#shared.world.about(50));
  }

  /** Moves the clock, as if the machine had slept or somebody had set it. */
  jumpClock(ms: number): void {
    this.#life.jumpedMs += ms;
  }

  kill(): void {
    const { world, network } = this.#shared;
    if (!this.#life.isAlive) return;
    this.#life.kill();
    if (this.#listener !== undefined) network.listeners.delete(this.#listener);
    this.#listener = undefined;
    if (!this.isStopped) world.after(world.about(1200) + 50, () => this.isStopped || this.#restart());
  }

  #restart(): void {
    this.#life = this.#start();
  }

  #start(): Life {
    const { world, audit } = this.#shared;
    const life = new Life(world, world.chance(0.3) ? 0.7 + world.random() : 1);
    this.#boot(life).catch((error: unknown) => {
      const isExpected = error instanceof StoreError && ['failed', 'not_owner'].includes(error.code);
      if (!isExpected) audit.require(false, `a server could not start: ${toErrorMessage(error)}`);
      if (error instanceof StoreError && error.code === 'not_owner') this.isStopped = true;
      if (life.isAlive) this.kill();
    });
    return life;
  }

  async #boot(life: Life): Promise<void> {
    const { world, network, run, disk, checkpoints, tasks, audit } = this.#shared;
    await life.wait(world.about(200));
    const store = new MemoryStore(disk, { faults: diskFaults(life) });
    const policies = run.policies.map((name) => {
      const trainer = new ToyTrainer(life, checkpoints(name), {
        repeatsExactly: run.repeatsExactly,
        onCheckpoint: () => this.#riskCrash(life),
      });
      this.trainers.set(name, trainer);
      return { name, trainer, settings: toSwarmSettings(run, name) };
    });
    const listener: { swarm?: Swarm } = {};
    const settings = toSwarmSettings(run);
    const swarm = await Swarm.open({
      host: life.host,
      store,
      settings,
      policies,
      tasks,
      onEnd: (error) => {
        if (error.code === 'not_owner') this.isStopped = true;
        this.kill();
      },
      onTrainerFailure: (error) =>
        life.isAlive && audit.require(false, `the trainer stopped: ${toErrorMessage(error)}`),
      onRecords: (records) => life.isAlive && records.some(isMoment) && this.#riskCrash(life),
      onCommit: (entries) => {
        const state = listener.swarm?.context.ledger.state;
        for (const { record } of entries) {
          if (record.kind === 'manifest' && state !== undefined) {
            const { rules } = toSwarmSettings(run, record.policy);
            audit.manifest(state, record, { run, rules });
          }
        }
      },
    });
    listener.swarm = swarm;
    if (!life.isAlive) return;
    this.#listener = { life, swarm };
    network.listeners.add(this.#listener);
  }

  /**
   * Draws a crash for one of the next moments. It is called at critical moments, so that crashes are more frequent
   * there.
   */
  #riskCrash(life: Life): void {
    const { world, crash } = this.#shared;
    if (!world.fault(0.04)) return;
    world.after(world.about(3), () => life.isAlive && crash(this));
  }
}

export type Shared = {
  readonly world: World;
  readonly network: Network;
  readonly disk: MemoryDisk;
  /** The trainer of a policy. */
  readonly checkpoints: (policy: string) => ToyCheckpoints;
  readonly tasks: TaskPort;
  readonly audit: Audit;
  readonly run: RunSettings;
  readonly crash: (server: ServerProcess) => void;
};

const moments: ReadonlySet<LedgerRecord['kind']> = new Set([
  'manifest',
  'outcome',
  'checkpoint',
  'end',
  'finished',
  'recovered',
]);

const isMoment = ({ kind }: LedgerRecord): boolean => moments.has(kind);

function diskFaults(life: Life) {
  const { world } = life;
  const means = { open: 20, commit: 0.3, sync: 3, roll: 30, remove: 20 };
  return {
    wait: (operation: keyof typeof means) => life.wait(world.chance(0.02) ? 150 : world.about(means[operation])),
    fails: (operation: keyof typeof means) =>
      world.fault(operation === 'commit' ? 0.0007 : operation === 'sync' ? 0.001 : 0),
    random: world.random,
  };
}
