import { MemoryDisk, MemoryStore, type DiskOperation } from '@agentjet/ledger/testing';
import { Swarm, type SwarmSettings } from '@agentjet/swarm-server/swarm';
import { WireError, type ClaimRequest, type EndRequest } from '@agentjet/swarm-wire';
import { Life } from '../simulation/life.js';
import { drawSettings, toSwarmSettings } from '../simulation/settings.js';
import { ToyCheckpoints, ToyTrainer } from '../simulation/toy-trainer.js';
import { World } from '../simulation/world.js';

/** Runs scenarios: servers on one disk, without a network, and with no faults except those of the scenario. */
export class Bench {
  readonly world = new World(1);
  readonly disk = new MemoryDisk();
  readonly checkpoints = new ToyCheckpoints();
  /** The operations that the disk refuses at the moment. */
  readonly broken = new Set<DiskOperation>();
  readonly settings: SwarmSettings;

  constructor(settings: Partial<SwarmSettings> = {}) {
    const run = { ...drawSettings(1), oversubscribe: 1, maxStaleness: 0, isJudged: false };
    this.settings = { ...toSwarmSettings(run), testFreq: 0, ...settings };
    this.world.hasFaults = false;
  }

  /** Starts a server, which takes the store over from any other server. */
  async serve(): Promise<{ readonly swarm: Swarm; readonly life: Life }> {
    const { world, disk, checkpoints, broken, settings } = this;
    const life = new Life(world);
    const faults = {
      wait: () => life.wait(1),
      fails: (operation: DiskOperation) => broken.has(operation),
      random: world.random,
    };
    const opening = Swarm.open({
      host: life.host,
      store: new MemoryStore(disk, { faults }),
      settings,
      trainer: new ToyTrainer(life, checkpoints, { repeatsExactly: true, onCheckpoint: () => {} }),
      tasks: {
        trainingTask: (draw) => ({ taskId: `t${draw}`, seed: 1 }),
        evaluationTask: (index) => ({ taskId: `v${index}`, seed: 1 }),
      },
      onEnd: () => {},
    });
    const swarm = await this.settle(opening);
    await this.settle(life.wait(500)); // then the weights are open
    return { swarm, life };
  }

  /** Lets time pass until the promise settles. */
  async settle<Value>(promise: Promise<Value>): Promise<Value> {
    let isSettled = false;
    promise
      .catch(() => {})
      .then(() => {
        isSettled = true;
      })
      .catch(() => {});
    const endMs = this.world.now + 60_000;
    do await this.world.runUntil(this.world.now + 5);
    while (!isSettled && this.world.now < endMs);
    if (!isSettled) throw new Error('Nothing was answered within a minute.');
    return promise;
  }

  async claim(swarm: Swarm, claimId: string): Promise<string> {
    const { episodes } = await this.settle(swarm.claim(claimRequest(claimId)));
    return episodes[0]?.episode_id ?? 'none';
  }

  /** Returns the code of the error that answers the request, or `ok`. */
  async codeOf(request: Promise<unknown>): Promise<string> {
    try {
      await this.settle(request);
      return 'ok';
    } catch (error) {
      return error instanceof WireError ? error.code : String(error);
    }
  }
}

export function claimRequest(claimId: string): ClaimRequest {
  return {
    claim_id: claimId,
    client: 'me',
    life: 'one',
    can: ['default'],
    count: 1,
    purpose: 'any',
    revision: '',
    lease_seconds: 600,
    wait_seconds: 0,
  };
}

export function endRequest(reward: number | null): EndRequest {
  return { client: 'me', status: 'completed', reward, is_success: null, metadata: {}, log_metrics: {} };
}

/** Returns the violation if something is wrong. */
export const when = (isWrong: boolean, violation: string): readonly string[] => (isWrong ? [violation] : []);
