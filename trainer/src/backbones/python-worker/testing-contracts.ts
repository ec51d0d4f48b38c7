import { mkdtempSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import type { Backbone } from '@agentjet/core';

import { backboneCases } from '../../testing/backbone-cases.js';
import type { ContractCase } from '../../testing/contract-case.js';
import { engineCases } from '../../testing/engine-cases.js';
import { weightsCases } from '../../testing/weights-cases.js';

/**
 * Each case needs a fresh backbone, but starting Python for each case would take minutes. A worker that a case has left
 * therefore loads its first checkpoint and serves the next case.
 */
export class WorkerPool {
  readonly #open: () => Promise<Backbone>;
  readonly #first = path.join(mkdtempSync(path.join(os.tmpdir(), 'ajet-first-')), 'checkpoint');
  readonly #all: Backbone[] = [];
  #idle: Backbone[] = [];
  #isSaved = false;

  /** `open` starts a worker; all workers have the same weights. */
  constructor(open: () => Promise<Backbone>) {
    this.#open = open;
  }

  async #start(): Promise<Backbone> {
    const worker = await this.#open();
    if (!this.#isSaved) await worker.save(this.#first);
    this.#isSaved = true;
    return worker;
  }

  /** Opens a worker that no other case uses afterwards. */
  async takeAway(): Promise<Backbone> {
    const worker = this.#idle.pop() ?? (await this.#start());
    await worker.load(this.#first);
    return worker;
  }

  /** Opens a worker that other cases use again after it is closed. */
  async lend(): Promise<Backbone> {
    const worker = this.#idle.pop() ?? (await this.#start());
    if (!this.#all.includes(worker)) this.#all.push(worker);
    await worker.load(this.#first);
    return lent(worker, () => this.#idle.push(worker));
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((worker) => worker.close()));
  }
}

function lent(worker: Backbone, giveBack: () => void): Backbone {
  return {
    engine: worker.engine,
    capabilities: worker.capabilities,
    modelDir: worker.modelDir,
    get policyVersion() {
      return worker.policyVersion;
    },
    trainStep: (batch, options) => worker.trainStep(batch, options),
    logprobs: (rows) => worker.logprobs(rows),
    ...(worker.termLogprobs !== undefined && { termLogprobs: worker.termLogprobs.bind(worker) }),
    save: (dir) => worker.save(dir),
    load: (dir) => worker.load(dir),
    close: () => Promise.resolve(giveBack()),
  };
}

/**
 * These contracts hold for a Python backbone. Cases that close the backbone come last, and use workers that other cases
 * have left.
 */
export function workerContracts(pool: () => WorkerPool, vocabSize: number): readonly ContractCase[] {
  const isLast = (name: string): boolean => /clos/.test(name);
  const openFor = (name: string) => (isLast(name) ? pool().takeAway() : pool().lend());
  const engineOf = async (name: string) => {
    const backbone = await openFor(name);
    return { engine: backbone.engine, vocabSize, close: () => backbone.close() };
  };
  const cases: readonly ContractCase[] = [
    ...backboneCases(() => pool().lend()).map(({ name, run }) => ({ name: `the backbone's contract: ${name}`, run })),
    ...engineCases(() => Promise.reject(new Error('unused'))).map(({ name }, index) => ({
      name: `the engine's contract: ${name}`,
      run: async () => engineCases(() => engineOf(name))[index]?.run(),
    })),
    ...weightsCases(() => Promise.reject(new Error('unused')), { vocabSize }).map(({ name }, index) => ({
      name: `the weights' contract: ${name}`,
      run: async () => weightsCases(() => openFor(name), { vocabSize })[index]?.run(),
    })),
  ];
  return [...cases.filter(({ name }) => !isLast(name)), ...cases.filter(({ name }) => isLast(name))];
}
