import type { ChatModel, ChatRequest } from '@agentjet/core';
import type { Tuner } from '@agentjet/rollout';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openFrozenModel, type FrozenModel } from './answering-models.js';

const request: ChatRequest = { messages: [{ role: 'user', content: 'Night. Whom do you kill?' }] };
/** Does the same as `asModel` of an adapter, without a framework. */
const asModel = (tuner: Tuner, agentName: string, debugModel?: ChatModel): ChatModel =>
  tuner.selectModel({ agentName, ...(debugModel && { debugModel }) }, (model) => model);

describe('a frozen model', () => {
  let frozen: FrozenModel;
  beforeAll(async () => {
    frozen = await openFrozenModel('nano', { maxTokens: 8, numThreads: 1 });
  });
  afterAll(() => frozen.close());

  it('plays an agent that does not learn: it answers, and only the other one is trained', async () => {
    const episode = openScriptedEpisode({ replies: ['Bo.'], trainableTargets: ['werewolf'] });
    const opponent = asModel(frozen.tunerFor(episode.tuner), 'villager');
    const agents = [asModel(episode.tuner, 'werewolf'), asModel(episode.tuner, 'villager', opponent)];
    const [own, other] = await Promise.all(agents.map((agent) => agent.generate(request)));
    expect([own?.message.content, other?.usage.completionTokens]).toEqual([
      'Bo.',
      expect.toSatisfy((count: number) => count >= 1 && count <= 8),
    ]);
    expect(episode.finish()).toMatchObject({ samples: [{ agentName: 'werewolf' }], stats: { calls: 1 } });
  });

  it('says the same in the same episode, something else in another, and takes nothing for its own to learn', async () => {
    const { tuner } = openScriptedEpisode({ replies: [''] });
    const say = async (beside: Tuner): Promise<readonly string[]> => {
      const agent = asModel(frozen.tunerFor(beside), 'villager');
      const answers: string[] = [];
      for (let call = 0; call < 4; call++) answers.push((await agent.generate(request)).message.content);
      return answers;
    };
    const said = await say(tuner);
    expect(await say(tuner)).toEqual(said);
    expect(await say(openScriptedEpisode({ replies: [''] }).tuner)).not.toEqual(said);
    expect(frozen.tunerFor(tuner).isTrainable('villager')).toBe(false);
  });

  it('ends with the episode', async () => {
    const { tuner, end } = openScriptedEpisode({ replies: [''] });
    const agent = asModel(frozen.tunerFor(tuner), 'villager');
    const running = agent.generate(request);
    end();
    await expect(running).rejects.toMatchObject({ code: 'closed' });
    await expect(agent.generate(request)).rejects.toMatchObject({ code: 'closed' });
  });

  it('has no address, and says who has', () => {
    const { tuner } = openScriptedEpisode({ replies: [''] });
    expect(() => frozen.tunerFor(tuner).asOpenAIEndpoint({ agentName: 'villager' })).toThrow(
      'tuner.asOpenAIEndpoint({ agentName, targetTag, debugModel })',
    );
  });
});

it('a folder that is not a model, and an option that means nothing, are refused', async () => {
  await expect(openFrozenModel('./runs/none')).rejects.toMatchObject({
    code: 'bad_model_files',
    message: expect.stringContaining('runs/none') as unknown,
  });
  await expect(openFrozenModel('nano', { temperature: -1 })).rejects.toThrow('"rollout.temperature"');
});
