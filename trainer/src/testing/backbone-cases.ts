import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AgentJetError, createRandom, type Backbone, type Completion, type LossOptions, type TokenSampling } from '@agentjet/core';
import { packTrees } from '../packing/pack-trees.js';
import { createRandomSamples } from './random-samples.js';

export type BackboneCaseOptions = {
  /** A new backbone, the same each time; its context holds at least 32 tokens, its vocabulary at least ids 0 to 4. Plain AdamW, learning rate 0.001 to 0.1. */
  readonly create: () => Promise<Backbone>;
  /** Largest difference of two logprobs that ought to be equal. Default 1e-4. */
  readonly tolerance?: number;
};

/** What every Backbone keeps, ours and an outside author's: run each case in a test of its own. `run` rejects with an assertion. */
export type BackboneCase = { readonly name: string; readonly run: (options: BackboneCaseOptions) => Promise<void> };

const sampling: TokenSampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 6, stopIds: [], seed: 11 };
const promptIds = Int32Array.of(1, 2, 3);
const loss: LossOptions = { kind: 'policy', clipLow: 0.2, clipHigh: 0.2, dualClip: 3, klCoef: 0, klEstimator: 'k3', entropyCoef: 0, temperature: 1 };
const samples = createRandomSamples(createRandom(4), { numRows: 10, maxLength: 6, vocabSize: 5, numEpisodes: 3 });
const tree = { packs: packTrees(samples, { maxPackTokens: 64 }).packs, loss };
const rows = { packs: packTrees(samples, { maxPackTokens: 64, sharing: 'none' }).packs, loss };

export const backboneCases: readonly BackboneCase[] = [
  backboneCase('samples the same tokens for the same seed, prompt and weights, whatever runs beside it', async (backbone) => {
    const alone = await backbone.engine.generate({ promptIds, sampling });
    const others = [21, 22, 23].map((seed) => backbone.engine.generate({ promptIds: Int32Array.of(4, seed % 5), sampling: { ...sampling, seed } }));
    const beside = await backbone.engine.generate({ promptIds, sampling });
    await Promise.all(others);
    assert.deepEqual(beside.ids, alone.ids);
  }),
  backboneCase('samples with the logprobs that it trains with', async (backbone, tolerance) => {
    const completion = await backbone.engine.generate({ promptIds, sampling });
    assertClose(completion.logprobs, await scoreCompletion(backbone, completion), tolerance);
    const greedy = await backbone.engine.generate({ promptIds, sampling: { ...sampling, temperature: 0 } });
    assertClose(greedy.logprobs, await scoreCompletion(backbone, greedy), tolerance);
  }),
  backboneCase('ends at a stop id, which is the last id, or at the token limit', async (backbone) => {
    const free = await backbone.engine.generate({ promptIds, sampling });
    assert.equal(free.finishReason, 'length');
    assert.equal(free.ids.length, sampling.maxTokens);
    const stopId = free.ids[2] ?? -1;
    const stopped = await backbone.engine.generate({ promptIds, sampling: { ...sampling, stopIds: [stopId] } });
    assert.equal(stopped.finishReason, 'stop');
    assert.deepEqual(stopped.ids, free.ids.slice(0, free.ids.indexOf(stopId) + 1));
  }),
  backboneCase('tells of each token as it comes, and stops when it is told to', async (backbone) => {
    const seen: number[] = [];
    const { ids, finishReason } = await backbone.engine.generate({ promptIds, sampling, onToken: (id) => (seen.push(id) === 3 ? 'stop' : undefined) });
    assert.deepEqual([...ids], seen);
    assert.deepEqual([ids.length, finishReason], [3, 'stop']);
  }),
  backboneCase('refuses a prompt beyond the context to its caller alone', async (backbone) => {
    const good = backbone.engine.generate({ promptIds, sampling });
    await rejects(backbone.engine.generate({ promptIds: new Int32Array(backbone.engine.contextLength + 1).fill(1), sampling }), 'context_overflow');
    assert.equal((await good).ids.length, sampling.maxTokens);
  }),
  backboneCase('drops an aborted call', async (backbone) => {
    await rejects(backbone.engine.generate({ promptIds, sampling, signal: AbortSignal.abort() }), 'aborted');
    const controller = new AbortController();
    await rejects(backbone.engine.generate({ promptIds, sampling: { ...sampling, maxTokens: 20 }, signal: controller.signal, onToken: () => void controller.abort() }), 'aborted');
  }),
  backboneCase('samples from the new weights after a step, and counts the version up', async (backbone) => {
    const before = await backbone.engine.generate({ promptIds, sampling });
    const metrics = await backbone.trainStep(tree);
    const after = await backbone.engine.generate({ promptIds, sampling });
    assert.deepEqual([before.policyVersion, metrics.policyVersion, backbone.policyVersion, after.policyVersion], [0, 1, 1, 1]);
    assert.ok(metrics.gradNorm > 0 && Number.isFinite(metrics.loss));
    assert.equal(metrics.trainedTokens, tree.packs.reduce((sum, { terms }) => sum + terms.pair.length, 0));
  }),
  backboneCase('makes more likely what had an advantage', async (backbone) => {
    const completion = await backbone.engine.generate({ promptIds, sampling });
    const ids = Int32Array.of(...promptIds, ...completion.ids);
    const trained = (value: (index: number) => number, other: number) => Array.from(ids, (_, t) => (t < promptIds.length ? other : value(t - promptIds.length)));
    const sample = {
      episodeId: 'e', agentName: 'a', targetTag: 'a', ids, lossMask: Uint8Array.from(trained(() => 1, 0)), logprobs: Float32Array.from(trained((index) => completion.logprobs[index] ?? 0, 0)),
      policyVersions: Int32Array.from(trained(() => 0, -1)), advantages: Float32Array.from(trained(() => 1, 0)),
    };
    await backbone.trainStep({ packs: packTrees([sample], { maxPackTokens: 64 }).packs, loss });
    const after = await scoreCompletion(backbone, completion);
    assert.ok(sum(after) > sum(completion.logprobs), `${sum(after)} is not above ${sum(completion.logprobs)}`);
  }),
  {
    name: 'trains a tree as it trains its rows',
    run: async ({ create, tolerance = 1e-4 }) => {
      const [onTree, onRows] = [await create(), await create()];
      const [fromTree, fromRows] = [await onTree.trainStep(tree), await onRows.trainStep(rows)];
      assertClose([fromTree.loss, fromTree.gradNorm], [fromRows.loss, fromRows.gradNorm], tolerance);
      assert.ok(fromTree.treeTokens < fromRows.treeTokens && fromTree.rowTokens === fromRows.rowTokens);
      await Promise.all([onTree.close(), onRows.close()]);
    },
  },
  {
    name: 'goes on from what it saved as if it had not stopped',
    run: async ({ create, tolerance = 1e-4 }) => {
      const dir = await mkdtemp(path.join(tmpdir(), 'backbone-'));
      const [first, second] = [await create(), await create()];
      await first.trainStep(tree);
      await first.save(path.join(dir, 'saved'));
      await second.load(path.join(dir, 'saved'));
      await rm(dir, { recursive: true });
      assert.equal(second.policyVersion, 1);
      await Promise.all([first.trainStep(tree), second.trainStep(tree)]);
      const [expected, found] = [await first.logprobs(samples), await second.logprobs(samples)];
      found.forEach((logprobs, index) => assertClose(logprobs, expected[index] ?? [], tolerance));
      await Promise.all([first.close(), second.close()]);
    },
  },
  backboneCase('leaves the weights alone when a step is aborted', async (backbone) => {
    const before = await backbone.logprobs(samples);
    await assert.rejects(backbone.trainStep(tree, { signal: AbortSignal.abort() }));
    assert.equal(backbone.policyVersion, 0);
    assert.deepEqual(await backbone.logprobs(samples), before);
  }),
  backboneCase('scores rows from the second token on', async (backbone) => {
    const [scored, single] = await backbone.logprobs([{ ids: Int32Array.of(1, 2, 3) }, { ids: Int32Array.of(4) }]);
    assert.deepEqual([scored?.length, scored?.[0], single], [3, 0, Float32Array.of(0)]);
    assert.ok((scored?.[1] ?? 0) < 0 && (scored?.[2] ?? 0) < 0);
  }),
  backboneCase('refuses calls once it is closed', async (backbone) => {
    await backbone.close();
    await rejects(backbone.engine.generate({ promptIds, sampling }), 'closed');
    await assert.rejects(backbone.trainStep(tree));
  }),
];

function backboneCase(name: string, check: (backbone: Backbone, tolerance: number) => Promise<void>): BackboneCase {
  return {
    name,
    run: async ({ create, tolerance = 1e-4 }) => {
      const backbone = await create();
      try {
        await check(backbone, tolerance);
      } finally {
        await backbone.close();
      }
    },
  };
}

async function scoreCompletion(backbone: Backbone, { ids }: Completion): Promise<Float32Array> {
  const [scored] = await backbone.logprobs([{ ids: Int32Array.of(...promptIds, ...ids) }]);
  return scored?.slice(promptIds.length) ?? new Float32Array();
}

async function rejects(call: Promise<unknown>, code: string): Promise<void> {
  await assert.rejects(call, (thrown) => thrown instanceof AgentJetError && thrown.code === code);
}

function assertClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number): void {
  assert.equal(actual.length, expected.length);
  for (let index = 0; index < actual.length; index++) {
    const [found, wanted] = [actual[index] ?? Number.NaN, expected[index] ?? Number.NaN];
    assert.ok(Math.abs(found - wanted) <= tolerance * Math.max(1, Math.abs(wanted)), `entry ${index} is ${found}, not ${wanted}`);
  }
}

function sum(values: Float32Array): number {
  return values.reduce((total, value) => total + value, 0);
}
