import type { ChatModel, ChatRequest } from '@agentjet/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTunedModel, type TunedModel } from './answering-models.js';

const request: ChatRequest = { messages: [{ role: 'user', content: 'Night. Whom do you kill?' }] };
const agent = (tuner: TunedModel, agentName: string): ChatModel => tuner.selectModel({ agentName }, (model) => model);

describe('a tuned model', () => {
  let tuned: TunedModel;
  beforeAll(async () => {
    tuned = await openTunedModel('nano', { maxTokens: 8, numThreads: 1, trainableTargets: ['werewolf'] });
  });
  afterAll(() => tuned.close());

  it('answers at any time, several calls at once, each with its own ids and draws', async () => {
    const model = agent(tuned, 'werewolf');
    const answers = await Promise.all(Array.from({ length: 6 }, () => model.generate(request)));
    expect(new Set(answers.map(({ id }) => id)).size).toBe(6);
    expect(new Set(answers.map(({ message }) => message.content)).size).toBeGreaterThan(1);
    expect(answers.every(({ usage }) => usage.completionTokens >= 1 && usage.completionTokens <= 8)).toBe(true);
  });

  it('gives an agent that did not learn its debug model, as in training', () => {
    const debugModel: ChatModel = { name: 'other', generate: () => Promise.reject(new Error('not called')) };
    expect(tuned.selectModel({ agentName: 'villager', debugModel }, (model) => model)).toBe(debugModel);
    expect(() => agent(tuned, 'villager')).toThrow('No model for agent "villager"');
  });

  it('takes rewards and spans without an effect, and says who has an address', () => {
    tuned.reward(1);
    expect(tuned.span('tool', () => 3)).toBe(3);
    expect(() => tuned.asOpenAIEndpoint({ agentName: 'werewolf' })).toThrow('`ajet serve <run or checkpoint>`');
  });

  it('refuses a request that the model cannot read, and answers the next', async () => {
    const model = agent(tuned, 'werewolf');
    const long = { messages: [{ role: 'user' as const, content: 'word '.repeat(5000) }] };
    await expect(model.generate(long)).rejects.toMatchObject({ code: 'context_overflow' });
    expect((await model.generate(request)).usage.completionTokens).toBeGreaterThan(0);
  });
});

it('draws the same again after it was opened with the same seed, and is closed for good', async () => {
  const said: string[][] = [];
  for (const seed of [1, 1, 2]) {
    const tuned = await openTunedModel('nano', { maxTokens: 12, numThreads: 1, seed });
    const model = agent(tuned, 'a');
    const answers: string[] = [];
    for (let call = 0; call < 3; call++) answers.push((await model.generate(request)).message.content);
    said.push(answers);
    await tuned.close();
    await expect(model.generate(request)).rejects.toMatchObject({ code: 'closed' });
  }
  expect(said[1]).toEqual(said[0]);
  expect(said[2]).not.toEqual(said[0]);
});

it('refuses a folder that is not a model', async () => {
  await expect(openTunedModel('./runs/none')).rejects.toThrow('There is no checkpoint');
});
