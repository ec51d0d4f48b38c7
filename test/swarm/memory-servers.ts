import { MemoryDisk, MemoryStore } from '@agentjet/ledger/testing';
import { SwarmServer, type SwarmServerOptions } from '@agentjet/swarm-server';
import { createCountingTrainer, testSettings } from '@agentjet/swarm-server/testing';
import { expect } from 'vitest';

/** The servers of one test, which share a disk in memory and a trainer that counts. */
export class MemoryServers {
  readonly disk = new MemoryDisk();
  readonly trainer = createCountingTrainer();
  readonly #started: SwarmServer[] = [];

  /** Starts a server. Resolves when the server gives out episodes. */
  async start(options: Partial<SwarmServerOptions> = {}): Promise<SwarmServer> {
    const server = await SwarmServer.start({
      openStore: async () => new MemoryStore(this.disk),
      openTrainer: this.trainer.open,
      settings: testSettings,
      ...options,
    });
    this.#started.push(server);
    await expect.poll(() => server.swarm?.describe().state).toBe('rolling');
    return server;
  }

  async close(): Promise<void> {
    await Promise.all(this.#started.map((server) => server.close()));
  }
}
