import { mkdtempSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import type { Backbone } from '@agentjet/core';
import { afterAll, beforeAll, describe, test } from 'vitest';

import { backboneCases } from '../../testing/backbone-cases.js';
import { engineCases } from '../../testing/engine-cases.js';
import { weightsCases } from '../../testing/weights-cases.js';
import type { TorchBackbone } from './create-torch-backbone.js';
import { hasTorch, makeTinyModel, startTiny } from './testing-worker.js';

const vocabSize = 61;
const timeout = 300_000;

/** The cases want a fresh backbone each; starting Python for each takes minutes, so idle workers go back to their first checkpoint. */
class WorkerPool {
  readonly #modelDir = makeTinyModel();
  readonly #first = path.join(mkdtempSync(path.join(os.tmpdir(), 'ajet-first-')), 'checkpoint');
  readonly #all: TorchBackbone[] = [];
  #idle: TorchBackbone[] = [];
  #isSaved = false;

  async start(): Promise<TorchBackbone> {
    const worker = await startTiny(await this.#modelDir, { inference: { slots: 8, kvTokens: 96 } });
    if (!this.#isSaved) await worker.save(this.#first);
    this.#isSaved = true;
    return worker;
  }

  /** One that is not given back. */
  async takeAway(): Promise<TorchBackbone> {
    const worker = this.#idle.pop() ?? (await this.start());
    await worker.load(this.#first);
    return worker;
  }

  async lend(): Promise<Backbone> {
    const worker = this.#idle.pop() ?? (await this.start());
    if (!this.#all.includes(worker)) this.#all.push(worker);
    await worker.load(this.#first);
    return lent(worker, () => this.#idle.push(worker));
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((worker) => worker.close()));
  }
}

function lent(worker: TorchBackbone, giveBack: () => void): Backbone {
  return {
    engine: worker.engine,
    capabilities: worker.capabilities,
    modelDir: worker.modelDir,
    get policyVersion() {
      return worker.policyVersion;
    },
    trainStep: (batch, options) => worker.trainStep(batch, options),
    logprobs: (rows) => worker.logprobs(rows),
    save: (dir) => worker.save(dir),
    load: (dir) => worker.load(dir),
    close: () => Promise.resolve(giveBack()),
  };
}

describe.skipIf(!hasTorch)('the torch backbone keeps', { timeout }, () => {
  let pool: WorkerPool;
  beforeAll(() => {
    pool = new WorkerPool();
  }, timeout);
  afterAll(() => pool.close(), timeout);

  /** The cases that close their backbone come last and take the workers that are idle by then. */
  const isLast = (name: string): boolean => /clos/.test(name);
  const openFor = (name: string) => (isLast(name) ? pool.takeAway() : pool.lend());
  const engineOf = async (name: string) => {
    const backbone = await openFor(name);
    return { engine: backbone.engine, vocabSize, close: () => backbone.close() };
  };
  const cases = [
    ...backboneCases(() => pool.lend()).map(({ name, run }) => ({ name: `the backbone's contract: ${name}`, run })),
    ...engineCases(() => Promise.reject(new Error('unused'))).map(({ name }, index) => ({
      name: `the engine's contract: ${name}`,
      run: () => engineCases(() => engineOf(name))[index]?.run(),
    })),
    ...weightsCases(() => Promise.reject(new Error('unused')), { vocabSize }).map(({ name }, index) => ({
      name: `the weights' contract: ${name}`,
      run: () => weightsCases(() => openFor(name), { vocabSize })[index]?.run(),
    })),
  ];
  for (const { name, run } of [
    ...cases.filter(({ name }) => !isLast(name)),
    ...cases.filter(({ name }) => isLast(name)),
  ])
    test(name, () => run());
});
