/**
 * These cases hold for the weights of every Backbone: versions, checkpoints, steps that fail. They add to
 * `backboneCases` and `engineCases`. Each case opens fresh backbones, all with the same weights.
 */

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { BackboneError, createRandom } from '@agentjet/core';
import type {
  Backbone,
  Completion,
  LossOptions,
  Sample,
  TokenSampling,
  TrainBatch,
  TrainStepMetrics,
} from '@agentjet/core';
import { packFor } from '../packing/pack-for.js';
import { packTrees } from '../packing/pack-trees.js';
import { withOpened } from './contract-case.js';
import type { ContractCase } from './contract-case.js';
import { assertClose, assertRejects } from './engine-cases.js';
import { plainLoss } from './plain-loss.js';

export type WeightsCaseOptions = {
  readonly vocabSize: number;
  /** The largest difference between logprobs of the sampler and of training. Defaults to 1e-4. */
  readonly logprobTolerance?: number;
  /** The largest relative difference of the losses of one training in two processes. Defaults to 1e-5. */
  readonly lossTolerance?: number;
};

const plain: TokenSampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 8, stopIds: [], seed: 1 };
const policyLoss: Extract<LossOptions, { readonly kind: 'policy' }> = { ...plainLoss, clipHigh: 0.28, dualClip: 0 };

/** Run each case with your test runner: `for (const { name, run } of weightsCases(open, options)) it(name, run)`. */
export function weightsCases(open: () => Promise<Backbone>, options: WeightsCaseOptions): readonly ContractCase[] {
  const suite = new WeightsSuite(open, options);
  const named = (name: string, use: (backbone: Backbone) => Promise<void>): ContractCase => ({
    name,
    run: () => withOpened(open, use),
  });
  return [
    named('samples with the logprobs that training computes, before and after a step', (backbone) =>
      suite.checkLogprobs(backbone),
    ),
    named('trains on what it sampled without a gap, at other temperatures too', (backbone) => suite.checkGap(backbone)),
    named('trains on what it sampled at several temperatures without a gap', (backbone) =>
      suite.checkMixedTemperatures(backbone),
    ),
    named('samples each completion from one version of the weights', (backbone) => suite.checkVersions(backbone)),
    named('scores rows of any length, the first token with 0', (backbone) => suite.checkScores(backbone)),
    named('leaves everything as it was when a step is aborted or its batch is empty', (backbone) =>
      suite.checkAborted(backbone),
    ),
    named('continues after save and load as if it had never stopped', (backbone) => suite.checkResume(backbone)),
    named('refuses to load a folder that is not a checkpoint, and still trains', (backbone) =>
      suite.checkBadLoad(backbone),
    ),
    named('refuses everything once it is closed', (backbone) => suite.checkClosed(backbone)),
  ];
}

class WeightsSuite {
  readonly #open: () => Promise<Backbone>;
  readonly #vocabSize: number;
  readonly #logprobTolerance: number;
  readonly #lossTolerance: number;

  constructor(
    open: () => Promise<Backbone>,
    { vocabSize, logprobTolerance = 1e-4, lossTolerance = 1e-5 }: WeightsCaseOptions,
  ) {
    this.#open = open;
    this.#vocabSize = vocabSize;
    this.#logprobTolerance = logprobTolerance;
    this.#lossTolerance = lossTolerance;
  }

  async checkLogprobs(backbone: Backbone): Promise<void> {
    await this.#assertScoredAlike(backbone, 0);
    await this.#assertScoredAlike(backbone, 1);
    await backbone.trainStep(this.#lesson());
    await this.#assertScoredAlike(backbone, 1);
  }

  async checkGap(backbone: Backbone): Promise<void> {
    for (const temperature of trainedTemperatures(backbone, [1, 0.7])) {
      const samples = await this.#sampleRows(backbone, { ...plain, temperature });
      const { logprobGapMax, trainedTokens } = await backbone.trainStep(
        toBatch(backbone, samples, { ...policyLoss, temperature }),
      );
      assert.ok(
        logprobGapMax <= this.#logprobTolerance,
        `at temperature ${temperature} the largest gap is ${logprobGapMax}`,
      );
      assert.equal(trainedTokens, 4 * plain.maxTokens);
    }
  }

  /** Makes rows that share prompts and predictors, each with its own temperature. The loss names yet another one. */
  async checkMixedTemperatures(backbone: Backbone): Promise<void> {
    const samples: Sample[] = [];
    const temperatures = trainedTemperatures(backbone, [1, 0.7, 0, 1.6]);
    for (const temperature of temperatures) {
      for (const sample of await this.#sampleRows(backbone, { ...plain, temperature, maxTokens: 3 })) {
        const ofTokens = Float32Array.from(sample.lossMask, (mask) => (mask === 1 ? temperature : 0));
        samples.push({ ...sample, episodeId: `${sample.episodeId} at ${temperature}`, temperatures: ofTokens });
      }
    }
    const batch = { ...toBatch(backbone, samples, { ...policyLoss, temperature: 0.3 }), reportTerms: true };
    const { logprobGapMax, trainedTokens, terms } = await backbone.trainStep(batch);
    assert.ok(logprobGapMax <= this.#logprobTolerance, `the largest gap is ${logprobGapMax}`);
    assert.equal(trainedTokens, 4 * temperatures.length * 3);
    for (const [index, { logprobs }] of (terms ?? []).entries())
      for (const [term, logprob] of logprobs.entries())
        assertClose(logprob, batch.packs[index]?.terms.logprobs[term], this.#logprobTolerance);
  }

  /**
   * Alternates steps and completions without waiting for any of them, and compares the results with those of one call
   * after the other.
   */
  async checkVersions(backbone: Backbone): Promise<void> {
    const [first, numSteps] = [backbone.policyVersion, 3];
    const sample = (one: Backbone): Promise<Completion> =>
      one.engine.generate({ promptIds: this.#row(4, 1), sampling: { ...plain, temperature: 0, maxTokens: 16 } });
    const expected = new Map<number, Completion>();
    await withOpened(this.#open, async (reference) => {
      for (let step = 0; step <= numSteps; step += 1) {
        expected.set(first + step, await sample(reference));
        await reference.trainStep(this.#lesson());
      }
    });
    const completions: Promise<Completion>[] = [];
    const steps: Promise<TrainStepMetrics>[] = [];
    for (let step = 0; step < numSteps; step += 1) {
      completions.push(sample(backbone), sample(backbone));
      steps.push(backbone.trainStep(this.#lesson()));
    }
    await Promise.all(steps);
    for (const { policyVersion, logprobs } of await Promise.all([...completions, sample(backbone)])) {
      const wanted = expected.get(policyVersion)?.logprobs;
      for (const [token, logprob] of logprobs.entries())
        assertClose(logprob, wanted?.[token], 10 * this.#logprobTolerance);
    }
  }

  async checkScores(backbone: Backbone): Promise<void> {
    const rows = [7, 1, 2, 12].map((length, seed) => ({ ids: this.#row(length, seed) }));
    const scores = await backbone.logprobs(rows);
    assert.deepEqual(
      scores.map((row) => row.length),
      [7, 1, 2, 12],
    );
    for (const [index, row] of scores.entries()) {
      assert.equal(row[0], 0);
      assert.ok(
        row.slice(1).every((logprob) => logprob < 0 && Number.isFinite(logprob)),
        `row ${index}: ${row}`,
      );
    }
    const [alone] = await backbone.logprobs(rows.slice(3));
    for (const [token, logprob] of (alone ?? []).entries())
      assertClose(scores[3]?.[token], logprob, this.#logprobTolerance);
    assert.deepEqual(await backbone.logprobs([]), []);
  }

  async checkAborted(backbone: Backbone): Promise<void> {
    const [version, before] = [backbone.policyVersion, await this.#score(backbone)];
    await assertRejects(backbone.trainStep(this.#lesson(), { signal: AbortSignal.abort() }), 'aborted', BackboneError);
    const controller = new AbortController();
    const step = backbone.trainStep(this.#lesson(), { signal: controller.signal });
    controller.abort();
    const outcome = await step.then(
      () => 1,
      () => 0,
    );
    await assertRejects(backbone.trainStep({ packs: [], loss: { kind: 'sft' } }), 'bad_batch', BackboneError);
    assert.equal(backbone.policyVersion, version + outcome);
    if (outcome === 0) assert.deepEqual(await this.#score(backbone), before);
    await backbone.trainStep(this.#lesson());
    assert.equal(backbone.policyVersion, version + outcome + 1);
  }

  async checkResume(backbone: Backbone): Promise<void> {
    await inTemporaryDir(async (dir) => {
      for (let step = 0; step < 2; step += 1) await backbone.trainStep(this.#lesson(step));
      await backbone.save(path.join(dir, 'checkpoint'));
      const resumed = await this.#open();
      await resumed.load(path.join(dir, 'checkpoint'));
      assert.equal(resumed.policyVersion, backbone.policyVersion);
      for (let step = 2; step < 4; step += 1) {
        const [expected, actual] = await Promise.all(
          [backbone, resumed].map((one) => one.trainStep(this.#lesson(step))),
        );
        for (const key of ['loss', 'gradNorm', 'learningRate', 'policyVersion'] as const) {
          const wanted = expected?.[key] ?? undefined; // is null if the backbone does not report the norm
          if (wanted !== undefined)
            assertClose(actual?.[key] ?? undefined, wanted, this.#lossTolerance * Math.max(1, wanted));
        }
      }
      const [expected, actual] = await Promise.all(
        [backbone, resumed].map((one) =>
          one.engine.generate({ promptIds: this.#row(5, 1), sampling: { ...plain, temperature: 0 } }),
        ),
      );
      assert.deepEqual(actual?.ids, expected?.ids);
      await resumed.close();
    });
  }

  async checkBadLoad(backbone: Backbone): Promise<void> {
    await inTemporaryDir(async (dir) => {
      const before = await this.#score(backbone);
      const rejection = await backbone.load(path.join(dir, 'nothing')).catch((error: unknown) => error);
      assert.ok(
        rejection instanceof BackboneError && rejection.message.includes('nothing'),
        `loading a missing folder: ${String(rejection)}`,
      );
      assert.deepEqual(await this.#score(backbone), before);
      await this.#assertScoredAlike(backbone, 1);
    });
  }

  async checkClosed(backbone: Backbone): Promise<void> {
    await backbone.close();
    await backbone.close();
    await inTemporaryDir(async (dir) => {
      const calls = [
        backbone.trainStep(this.#lesson()),
        backbone.logprobs([{ ids: this.#row(3, 1) }]),
        backbone.save(path.join(dir, 'model')),
        backbone.load(dir),
      ];
      for (const call of calls) await assertRejects(call, 'closed', BackboneError);
    });
  }

  async #assertScoredAlike(backbone: Backbone, temperature: number): Promise<void> {
    const samples = await this.#sampleRows(backbone, { ...plain, temperature });
    const scores = await backbone.logprobs(samples);
    for (const [row, { lossMask, logprobs }] of samples.entries()) {
      for (const [token, mask] of lossMask.entries())
        if (mask === 1) assertClose(logprobs[token], scores[row]?.[token], this.#logprobTolerance);
    }
  }

  /** Four prompts with completions. The third prompt shares its beginning with the second. */
  async #sampleRows(backbone: Backbone, sampling: TokenSampling): Promise<readonly Sample[]> {
    const prompts = [this.#row(3, 1), this.#row(9, 2), Int32Array.from([...this.#row(9, 2), 1, 2]), this.#row(1, 4)];
    const completions = await Promise.all(
      prompts.map((promptIds, seed) => backbone.engine.generate({ promptIds, sampling: { ...sampling, seed } })),
    );
    return completions.map((completion, index) => toSample(prompts[index] ?? new Int32Array(), completion, index));
  }

  async #score(backbone: Backbone): Promise<readonly Float32Array[]> {
    return await backbone.logprobs([{ ids: this.#row(10, 9) }]);
  }

  #lesson(seed = 0): TrainBatch {
    const completion = {
      ids: this.#row(6, 30 + seed),
      logprobs: new Float32Array(6),
      finishReason: 'stop',
      policyVersion: 0,
    } as const;
    const sample = toSample(this.#row(4, 40 + seed), completion, 0);
    return { packs: packTrees([sample], { maxPackTokens: 256 }).packs, loss: { kind: 'sft' } };
  }

  #row(length: number, seed: number): Int32Array {
    const random = createRandom(seed);
    return Int32Array.from({ length }, () => random.int(this.#vocabSize));
  }
}

function toSample(promptIds: Int32Array, { ids, logprobs, policyVersion }: Completion, index: number): Sample {
  const afterPrompt = <Value extends number>(first: number, rest: ArrayLike<Value>): number[] => [
    ...Array.from(promptIds, () => first),
    ...Array.from(rest),
  ];
  return {
    episodeId: `episode-${index}`,
    agentName: 'agent',
    targetTag: 'agent',
    ids: Int32Array.from([...promptIds, ...ids]),
    lossMask: Uint8Array.from(
      afterPrompt(
        0,
        Array.from(ids, () => 1),
      ),
    ),
    logprobs: Float32Array.from(afterPrompt(0, logprobs)),
    policyVersions: Int32Array.from(
      afterPrompt(
        -1,
        Array.from(ids, () => policyVersion),
      ),
    ),
    advantages: Float32Array.from(
      afterPrompt(
        0,
        Array.from(ids, () => (index % 2 === 0 ? 1 : -1)),
      ),
    ),
  };
}

/** Returns the temperatures that the backbone trains; greedy tokens (0) count as sampled at 1. */
function trainedTemperatures({ capabilities }: Backbone, all: readonly number[]): readonly number[] {
  return capabilities.trainsTemperatures === false ? all.filter((each) => each === 0 || each === 1) : all;
}

function toBatch(backbone: Backbone, samples: readonly Sample[], loss: LossOptions): TrainBatch {
  return { packs: packFor(backbone, samples, { maxPackTokens: 256 }).packs, loss };
}

async function inTemporaryDir(use: (dir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(path.join(tmpdir(), 'agentjet-backbone-'));
  try {
    await use(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
