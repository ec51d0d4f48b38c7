import type { Backbone, LossOptions } from '@agentjet/core';
import type { AnnotationLine, EpisodeRecord, SampleAnnotation, UpdateAnnotation } from '@agentjet/run-folder';
import { describe, expect, it } from 'vitest';
import { createGrpo } from '../algorithms/grpo/grpo.js';
import { createTinyTaskBackbone, tinyTaskGroups } from '../testing/tiny-task.js';
import { prepareBatch, type BatchSettings } from './prepare-batch.js';
import { createTokenRecording, gapLimit, type TokenRecording } from './token-records.js';
import type { TrainingGroup } from './training-group.js';
import { plainLoss } from '../testing/plain-loss.js';

const loss: LossOptions = plainLoss;
const settings: BatchSettings = {
  whitenAdvantages: false,
  loss,
  packing: { maxPackTokens: 64 },
  lengthLimit: { maxSampleTokens: Infinity, policy: 'error' },
  numMiniBatches: 1,
  numEpochs: 1,
};

type Recorded = { readonly lines: readonly AnnotationLine[]; readonly episodes: readonly EpisodeRecord[] };

async function record(
  backbone: Backbone,
  mode: TokenRecording['mode'],
  {
    changes = {},
    onNotice = () => {},
    sampler = backbone,
  }: { changes?: Partial<BatchSettings>; onNotice?: (message: string) => void; sampler?: Backbone } = {},
): Promise<Recorded> {
  const groups: TrainingGroup[] = [];
  for await (const group of tinyTaskGroups(sampler.engine, { seed: 7, numRepeat: 4, numGroups: 2 })) groups.push(group);
  const recordTokens = createTokenRecording(mode, 'tiny', onNotice);
  const options = { backbone, algorithm: createGrpo(), recordTokens };
  const batch = prepareBatch(groups, { ...settings, ...changes }, options);
  for (const index of batch.optimizerSteps.keys()) await batch.optimize(index);
  let recorded: Recorded = { lines: [], episodes: [] };
  const recordStep = async (_metrics: object, episodes: readonly EpisodeRecord[] = [], lines: Recorded['lines'] = []) =>
    void (recorded = { lines, episodes });
  const metrics = await batch.record({ recordStep }, { step: 1, secondsSampling: 0 });
  expect(metrics).not.toHaveProperty('terms');
  return recorded;
}

const headsOf = ({ lines }: Recorded): readonly UpdateAnnotation[] =>
  lines.filter((line): line is UpdateAnnotation => 'mode' in line);
const samplesOf = ({ lines }: Recorded): readonly SampleAnnotation[] =>
  lines.filter((line): line is SampleAnnotation => 'episode_id' in line);

describe.each(['packs', 'rows'] as const)('a backbone that takes %s: what it computed for tokens', (takes) => {
  it('is recorded for each trained token at its position, with the mode all', async () => {
    const backbone = createTinyTaskBackbone(1, takes);
    const recorded = await record(backbone, 'all');
    const trained = recorded.episodes.filter(({ samples }) =>
      samples.some(({ advantages }) => advantages.some(Boolean)),
    );
    expect(
      samplesOf(recorded)
        .map(({ episode_id: id }) => id)
        .sort(),
    ).toEqual(trained.map(({ episode_id: id }) => id).sort());
    for (const { episode_id: id, sample, positions, logprobs, ratios, entropies, clipped } of samplesOf(recorded)) {
      const found = trained.find((episode) => episode.episode_id === id)?.samples[sample] ?? expect.fail();
      expect(positions.toSorted((one, other) => one - other)).toEqual(
        found.loss_mask.flatMap((mask, at) => (mask === 1 ? [at] : [])),
      );
      positions.forEach((position, at) => {
        const gap = (logprobs[at] ?? NaN) - (found.logprobs[position] ?? NaN);
        expect(gap).toBeCloseTo(0, 3); // the weights that are trained have sampled the tokens
        expect(ratios[at]).toBeCloseTo(Math.exp(gap), 3);
      });
      expect([entropies?.length, clipped.length]).toEqual([positions.length, positions.length]);
    }
    const [head] = headsOf(recorded);
    const tokens = samplesOf(recorded).reduce((sum, { positions }) => sum + positions.length, 0);
    expect(head).toMatchObject({ update: 0, mode: 'all', tokens, kept: tokens, clipped: 0 });
    expect(head?.entropy_mean).toBeGreaterThan(0);
  });

  it('is recorded for tokens that have changed or that the clip removed, with the mode changed', async () => {
    const changes = { numEpochs: 8 };
    const all = await record(createTinyTaskBackbone(1, takes), 'all', { changes });
    const changed = await record(createTinyTaskBackbone(1, takes), 'changed', { changes });
    const sampled = new Map(all.episodes.map(({ episode_id: id, samples }) => [id, samples] as const));
    const wanted = samplesOf(all).flatMap(({ update, episode_id: id, sample, positions, logprobs, clipped }) =>
      positions.flatMap((position, at) => {
        const gap = Math.abs((logprobs[at] ?? NaN) - (sampled.get(id)?.[sample]?.logprobs[position] ?? NaN));
        return gap > gapLimit || clipped[at] === 1 ? [`${update} ${id} ${position}`] : [];
      }),
    );
    const kept = samplesOf(changed).flatMap(({ update, episode_id: id, positions }) =>
      positions.map((position) => `${update} ${id} ${position}`),
    );
    expect(kept).toEqual(wanted);
    expect(headsOf(changed).map(({ update }) => update)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    const [first] = headsOf(changed);
    expect(first).toMatchObject({ kept: 0, gap_limit: gapLimit });
    expect(headsOf(changed).at(-1)?.clipped).toBeGreaterThan(0);
  });
});

it('the importance weight of each token is recorded after its limit, if there is a correction', async () => {
  const correction = { level: 'token', mode: 'truncate', lower: 0, upper: 1 } as const;
  const changes = { loss: { ...loss, correction } };
  const [backbone, sampler] = [createTinyTaskBackbone(1), createTinyTaskBackbone(2)];
  const tokens = samplesOf(await record(backbone, 'all', { changes, sampler })).flatMap(({ ratios, importance = [] }) =>
    ratios.map((ratio, at) => ({ ratio, weight: importance[at] ?? NaN })),
  );
  expect(tokens.some(({ ratio }) => ratio > 1.01)).toBe(true);
  for (const { ratio, weight } of tokens) expect(weight).toBeCloseTo(Math.min(ratio, 1), 3);
  expect(samplesOf(await record(createTinyTaskBackbone(1), 'all', { sampler }))[0]).not.toHaveProperty('importance');
});

it('nothing is asked of the backbone with the mode none', async () => {
  const asked: unknown[] = [];
  const backbone = createTinyTaskBackbone(1);
  const trainStep = backbone.trainStep.bind(backbone);
  backbone.trainStep = (batch) => {
    asked.push(batch.reportTerms);
    return trainStep(batch);
  };
  expect((await record(backbone, 'none')).lines).toEqual([]);
  expect(asked).toEqual([undefined]);
});

it('a backbone that does not report single tokens is named once', async () => {
  const notices: string[] = [];
  const backbone = createTinyTaskBackbone(1);
  const trainStep = backbone.trainStep.bind(backbone);
  backbone.trainStep = async (batch) => {
    const { terms: _terms, ...metrics } = await trainStep(batch);
    return metrics;
  };
  const onNotice = (message: string) => void notices.push(message);
  const { lines } = await record(backbone, 'changed', { changes: { numEpochs: 2 }, onNotice });
  expect(lines).toEqual([]);
  expect(notices).toEqual([
    'The backbone tiny does not report what it computes for single tokens, so trainer_common.record_tokens has no effect.',
  ]);
});
