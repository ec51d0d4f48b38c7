/**
 * The Backbone contract over a server of the Tinker API. Requests that change the model run one after the other. If the
 * server loses a step, the backbone repeats the whole step on a new model, which begins with the last state that was
 * kept on the server.
 */

import {
  BackboneError,
  toErrorMessage,
  type Backbone,
  type BackboneCapabilities,
  type Engine,
  type ModelHandle,
  type TokenRow,
  type TrainBatch,
  type TrainStepMetrics,
  type TreePack,
} from '@agentjet/core';
import { StepQueue } from '../../slope/step-queue.js';
import { trainInPasses, type BuiltInBatch } from '../../slope/train-in-passes.js';
import { learningRateAt } from '../embedded/training/optimizer/learning-rate.js';
import { tinkerCapabilities } from '../capabilities.js';
import { readTinkerState, saveTinkerCheckpoint } from './checkpoint.js';
import { encodeRows } from './encode-rows.js';
import { LiveModel, type TinkerParts } from './live-model.js';
import type { RemoteModel } from './remote-model.js';
import { checkRows, toTargets, toTerms, type RowData } from './row-data.js';
import { checkBuiltInLoss, coefficientsOf, describeStep, needsLogprobs, type RowLogprobs } from './step-terms.js';
import { closedError, LostError } from './tinker-errors.js';
import { createTinkerEngine, type Sampler } from './tinker-engine.js';
import { Turns } from './turns.js';

type EncodedStep = {
  readonly data: readonly RowData[];
  /** The result of the forward pass, if there was one. */
  readonly before: readonly ArrayLike<number>[] | undefined;
  readonly reference: RowLogprobs['reference'];
};

type StepOptions = { readonly signal?: AbortSignal };

/** The parts of the time of a step. */
export type TinkerTrainStepMetrics = TrainStepMetrics & {
  /** The time before the server began the step, because it computed other requests of this run or had no room. */
  readonly secondsQueued: number;
  readonly secondsComputing: number;
  /** Time until samples come from the new weights. */
  readonly secondsSync: number;
};

export class TinkerBackbone implements Backbone {
  readonly engine: Engine;
  readonly capabilities: BackboneCapabilities;
  readonly #parts: TinkerParts;
  readonly #queue = new StepQueue();
  /**
   * Servers that average cannot sample while they train. SkyRL's JAX engine, which averages, replaces the weights in
   * training with those of the sampler.
   */
  readonly #turns: Turns | undefined;
  #live: LiveModel;
  #version = 0;
  /** The last state that is known to be on the server; null is the initial weights. */
  #kept: { readonly path: string | null; readonly version: number } = { path: null, version: 0 };
  #isLost = false;
  /** The number of steps that this run has made. */
  #secondsSync = 0;
  /**
   * True after a loss, until the next step. Samples may then come from lost steps, so no sample counts as on-policy.
   */
  #isRolledBack = false;

  constructor(parts: TinkerParts, live: LiveModel) {
    this.#parts = parts;
    this.#live = live;
    this.#turns = parts.seam.encoding === 'averages' ? new Turns() : undefined;
    this.capabilities = { ...tinkerCapabilities, reportsGradNorm: parts.seam.isChecked };
    this.engine = createTinkerEngine({
      ...parts,
      sampler: () => this.#live.sampler,
      recover: (lost) => this.#recoverSampler(lost),
      ...(this.#turns && { turns: this.#turns }),
    });
  }

  get policyVersion(): number {
    return this.#version;
  }

  get modelDir(): ModelHandle {
    return { tokenizerDir: this.#parts.modelDir, weights: this.#kept.path ?? this.#live.model.id };
  }

  trainStep(batch: TrainBatch, options: StepOptions = {}): Promise<TinkerTrainStepMetrics> {
    const askedAt = performance.now();
    const run = () => this.#trainAlone(batch, options, askedAt);
    return this.#turns?.train(run) ?? run();
  }

  #trainAlone(batch: TrainBatch, { signal }: StepOptions, askedAt: number): Promise<TinkerTrainStepMetrics> {
    return this.#alone(async () => {
      const { client } = this.#parts;
      const start = { at: performance.now(), paused: client.secondsPaused, sync: this.#secondsSync };
      checkRows(batch.packs);
      const metrics = await this.#untilKept(() =>
        trainInPasses(batch, {
          termLogprobs: (packs) => this.#termLogprobs(packs),
          trainStep: (builtIn) =>
            this.#trainStep(this.#isRolledBack ? { ...builtIn, isOnPolicy: false } : builtIn, signal),
        }),
      );
      const secondsPaused = client.secondsPaused - start.paused;
      const secondsSync = this.#secondsSync - start.sync;
      const secondsComputing = Math.max(0, (performance.now() - start.at) / 1000 - secondsPaused - secondsSync);
      return { ...metrics, secondsQueued: (start.at - askedAt) / 1000 + secondsPaused, secondsComputing, secondsSync };
    });
  }

  logprobs(rows: readonly TokenRow[]): Promise<readonly Float32Array[]> {
    return this.#alone(async () => {
      const found = await this.#untilKept(() => this.#forward(rows.map(({ ids }) => ids)));
      return found.map((targets) => Float32Array.of(0, ...targets));
    });
  }

  save(dir: string): Promise<void> {
    return this.#alone(() => this.#untilKept(() => this.#save(dir)));
  }

  async #save(dir: string): Promise<void> {
    const path = await this.#keep();
    await saveTinkerCheckpoint(dir, {
      model: this.#live.model,
      name: this.#parts.nameOf(`home-${this.#version}`),
      modelDir: this.#parts.modelDir,
      baseDir: this.#parts.baseDir,
      isMerged: this.#parts.checkpoint === 'merged',
      state: { path, policyVersion: this.#version, baseDir: this.#parts.baseDir },
      notice: this.#parts.notice,
    });
  }

  load(dir: string): Promise<void> {
    return this.#alone(async () => {
      const { path, policyVersion } = await readTinkerState(dir);
      const live = await LiveModel.open(this.#parts, { path, version: policyVersion, home: dir });
      await this.#live.close();
      this.#live = live;
      this.#version = policyVersion;
      this.#kept = { path, version: policyVersion };
    });
  }

  async close(): Promise<void> {
    if (this.#parts.client.isClosed) return;
    this.#parts.client.close();
    await this.#live.close();
  }

  async #alone<Result>(run: () => Promise<Result>): Promise<Result> {
    if (this.#parts.client.isClosed) throw closedError();
    return await this.#queue.run(true, run);
  }

  /**
   * Runs the function. If the server loses the model in the meantime, the function runs a second time on a new model
   * with the kept state.
   */
  async #untilKept<Result>(run: () => Promise<Result>): Promise<Result> {
    if (this.#isLost) await this.#recover('after the last request failed');
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof LostError)) throw error;
      await this.#recover(toErrorMessage(error));
      return await run();
    }
  }

  async termLogprobs(packs: readonly TreePack[]): Promise<readonly Float32Array[]> {
    return await this.#alone(() => this.#untilKept(() => this.#termLogprobs(packs)));
  }

  async #trainStep(batch: BuiltInBatch, signal: AbortSignal | undefined): Promise<TrainStepMetrics> {
    checkBuiltInLoss(batch);
    checkNotAborted(signal);
    const { encoding } = this.#parts.seam;
    const rows = batch.packs.map(({ ids }) => ids);
    const before = needsLogprobs(batch) || encoding === 'averages' ? await this.#forward(rows) : undefined;
    const reference = await this.#referenceLogprobs(batch, rows);
    if (before !== undefined) checkFinite(batch.packs, before);
    const coefficients = coefficientsOf(batch, before && { trained: before, reference });
    const targets = batch.packs.map((pack, index) => toTargets(pack, coefficients[index] ?? []));
    if (targets.some((row) => !row.every(Number.isFinite))) throw nonFinite('a coefficient of the loss');
    checkNotAborted(signal);
    const trainable = rows.map((ids, index) => ({ ids, coefficients: targets[index] ?? new Float64Array() }));
    return await this.#step(batch, { data: encodeRows(trainable, encoding, before), before, reference });
  }

  /**
   * Makes the part of a step that begins with the first gradient. After a failure here the model is discarded, because
   * a gradient cannot be removed from it.
   */
  async #step(batch: BuiltInBatch, { data, before, reference }: EncodedStep): Promise<TrainStepMetrics> {
    const { model } = this.#live;
    const adam = { ...this.#parts.optimizer, ...batch.optimizer };
    const learningRate = batch.optimizer?.learningRate ?? learningRateAt(this.#parts.optimizer, this.#version);
    try {
      const found = await model.forwardBackward(data, this.#parts.seam.encoding);
      checkFinite(batch.packs, found);
      const gradNorm = await model.optimStep({ ...adam, learningRate });
      const version = this.#version + 1;
      const kept = version - this.#kept.version >= this.#parts.keepStateEvery;
      const state = kept ? await model.saveState(this.#parts.nameOf(`state-${version}`)) : undefined;
      const startedAt = performance.now();
      await this.#live.renewSampler(version);
      this.#secondsSync += (performance.now() - startedAt) / 1000;
      this.#version = version;
      this.#isRolledBack = false;
      if (state !== undefined) this.#kept = { path: state, version };
      const facts = { gradNorm, learningRate, policyVersion: version };
      return describeStep(batch, { trained: before ?? found, reference }, facts);
    } catch (error) {
      this.#isLost = true;
      if (!(error instanceof LostError) && !isUnreachable(error) && !this.#parts.client.isClosed)
        await this.#recover(toErrorMessage(error)).catch(() => undefined); // the next request tries again
      throw error;
    }
  }

  async #forward(rows: readonly Int32Array[], model: RemoteModel = this.#live.model): Promise<Float64Array[]> {
    const longer = rows.filter((ids) => ids.length > 1);
    const found = longer.length === 0 ? [] : await model.forward(longer);
    const results = found.values();
    return rows.map((ids) => (ids.length > 1 ? results.next().value : undefined) ?? new Float64Array());
  }

  async #termLogprobs(packs: readonly TreePack[]): Promise<Float32Array[]> {
    const found = await this.#forward(packs.map(({ ids }) => ids));
    return packs.map((pack, index) => Float32Array.from(toTerms(pack, found[index] ?? [])));
  }

  async #referenceLogprobs({ loss }: BuiltInBatch, rows: readonly Int32Array[]): Promise<RowLogprobs['reference']> {
    if (loss.kind !== 'policy' || loss.klCoef === 0) return undefined;
    return await this.#forward(rows, await this.#live.openReference(this.#parts));
  }

  async #keep(): Promise<string> {
    if (this.#kept.path !== null && this.#kept.version === this.#version) return this.#kept.path;
    const path = await this.#live.model.saveState(this.#parts.nameOf(`state-${this.#version}`));
    this.#kept = { path, version: this.#version };
    return path;
  }

  #recoverSampler(lost: Sampler): Promise<Sampler> {
    return this.#alone(async () => {
      if (this.#isLost || this.#live.sampler.id === lost.id) await this.#recover('its sampler is gone');
      return this.#live.sampler;
    });
  }

  async #recover(reason: string): Promise<void> {
    const { path, version } = this.#kept;
    const numLost = this.#version - version;
    const lost = numLost === 0 ? '' : ` ${numLost} optimizer steps since then are lost (tinker.keep_state_every).`;
    this.#parts.notice(
      `tinker: the model on the server is discarded (${reason}). A new model begins with the weights of step ${version}.${lost}`,
    );
    this.#isLost = true;
    this.#isRolledBack ||= numLost > 0;
    await this.#live.close();
    this.#live = await LiveModel.open(this.#parts, { path, version: this.#version });
    this.#isLost = false;
  }
}

const isUnreachable = (error: unknown): boolean => error instanceof BackboneError && error.code === 'unreachable';

function checkNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted)
    throw new BackboneError('aborted', 'The training step was aborted; the weights are unchanged.', {
      cause: signal.reason,
    });
}

function checkFinite(packs: readonly TreePack[], logprobs: readonly ArrayLike<number>[]): void {
  for (const [index, pack] of packs.entries())
    if (!toTerms(pack, logprobs[index] ?? []).every(Number.isFinite)) throw nonFinite(`a logprob of row ${index}`);
}

function nonFinite(what: string): BackboneError {
  return new BackboneError(
    'non_finite_gradient',
    `${what} is not a finite number, so the step was not made, and the weights are unchanged. Lower the learning rate, or look for rows with invalid values.`,
  );
}
