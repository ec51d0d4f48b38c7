import type { ChatRequest, SamplingOptions } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { openScriptedEpisode } from '../testing.js';
import type { RequestSampling } from './sampling.js';

const configured = { temperature: 0.9, topP: 0.95, topK: 50 };
const asked: SamplingOptions = { temperature: 0, topP: 0.5, topK: 3, seed: 1, maxTokens: 7, stop: ['END'] };
const ask: ChatRequest = { messages: [{ role: 'user', content: 'hi' }], sampling: asked };

function open(requestSampling: RequestSampling) {
  const episode = openScriptedEpisode({ replies: ['hello'], sampling: configured, requestSampling });
  return { ...episode, model: episode.tuner.selectModel({ agentName: 'a' }, (model) => model) };
}

describe('sampling that a trained agent asks for', () => {
  it('is ignored and counted, but for token limits and stops', async () => {
    const { model, engine, finish } = open('ignore');
    await model.generate(ask);
    await model.generate({ ...ask, sampling: { ...configured } });
    const [first, second] = engine.requests.map(({ request }) => request.sampling);
    expect(first).toMatchObject({ ...configured, maxTokens: 7 });
    expect(first?.seed).not.toBe(1);
    expect(second).toMatchObject(configured);
    const { ignoredParameters, samples } = finish();
    expect(ignoredParameters).toEqual({ a: { temperature: 1, top_p: 1, top_k: 1, seed: 1 } });
    for (const sample of samples) expect(sample).not.toHaveProperty('temperatures');
  });

  it.each([
    [{ temperature: '0.2' }, 'Sampling option temperature is "0.2", which is not a number from 0.'],
    [{ temperature: NaN }, 'Sampling option temperature is NaN, which is not a number from 0.'],
    [{ max_tokens: 5 }, 'Sampling option max_tokens is unknown. The options are temperature, topP,'],
  ])('is refused with the value seen: %j', async (sampling, message) => {
    const { model } = open('ignore');
    await expect(model.generate({ ...ask, sampling: sampling as SamplingOptions })).rejects.toThrow(message);
  });

  it('is honoured if the configuration says so, and each token then carries its temperature', async () => {
    const { model, engine, finish } = open('honour');
    await model.generate({ ...ask, sampling: { temperature: 0.25, seed: 1 } });
    await model.generate({ ...ask, sampling: {} });
    expect(engine.requests[0]?.request.sampling).toMatchObject({ temperature: 0.25, seed: 1 });
    const { samples, ignoredParameters } = finish();
    const seen = samples.map(({ temperatures, lossMask }) => [
      ...new Set(Array.from(temperatures ?? []).filter((_, t) => lossMask[t] === 1)),
    ]);
    expect(seen.flat().toSorted((left, right) => left - right)).toEqual([0.25, Math.fround(0.9)]);
    expect(
      samples.every(({ temperatures, lossMask }) =>
        temperatures?.every((value, t) => lossMask[t] === 1 || value === 0),
      ),
    ).toBe(true);
    expect(ignoredParameters).toEqual({});
  });

  it.each([{ topP: 0.5 }, { topK: 3 }, { topP: 1 }, { topK: -1 }])(
    'is context and not trained if it cuts the distribution otherwise than the run: %o',
    async (sampling) => {
      const { model, finish } = open('honour');
      const { message } = await model.generate({ ...ask, sampling });
      const more = { role: 'user', content: 'on' } as const;
      await model.generate({ messages: [...ask.messages, message, more], sampling: {} });
      const { samples, turns, stats } = finish();
      expect(turns.map(({ isTrained = true }) => isTrained)).toEqual([false, true]);
      expect(samples).toHaveLength(1);
      const [first, second] = turns;
      const trained = Array.from(samples[0]?.lossMask ?? []).indexOf(1);
      expect(trained).toBe(second?.promptTokens);
      expect(stats.trainedTokens).toBe(stats.generatedTokens - (first?.generatedTokens ?? 0));
    },
  );

  it.each([{ topP: 0.95 }, { topP: 0.95, topK: 50, temperature: 0.5 }, { temperature: 0, topP: 0.5 }])(
    'is trained if it cuts as the run does, or takes the likeliest token: %o',
    async (sampling) => {
      const { model, finish } = open('honour');
      await model.generate({ ...ask, sampling });
      const { stats } = finish();
      expect(stats.trainedTokens).toBe(stats.generatedTokens);
    },
  );

  it('is what a call that is not trained gets', async () => {
    const { model, engine, finish } = open('ignore');
    await model.generate({ ...ask, isTrained: false });
    expect(engine.requests[0]?.request.sampling).toMatchObject({ temperature: 0, topP: 0.5, topK: 3, seed: 1 });
    expect(finish().ignoredParameters).toEqual({});
  });
});
