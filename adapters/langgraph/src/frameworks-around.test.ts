import { openScriptedEpisode, type ScriptedEpisodeOptions } from '@agentjet/rollout/testing';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { Annotation, Command, interrupt, MemorySaver, MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { type AgentMiddleware, createAgent, summarizationMiddleware } from 'langchain';
import { describe, expect, it } from 'vitest';
import { asModel } from './index.js';

function open(options: ScriptedEpisodeOptions) {
  const episode = openScriptedEpisode(options);
  return { episode, model: asModel(episode.tuner, { agentName: 'solver' }) };
}

describe('the profile of the model', () => {
  it('has the limits of the run, and what the model reads and writes', () => {
    const { model, episode } = open({ replies: ['x'], contextLength: 700, sampling: { maxTokens: 55 } });
    expect(model.profile).toMatchObject({
      maxInputTokens: 700,
      maxOutputTokens: 55,
      toolCalling: true,
      imageInputs: false,
      pdfInputs: false,
      videoOutputs: false,
    });
    const limited = asModel(episode.tuner, { agentName: 'solver', sampling: { maxTokens: 9 } });
    expect(limited.profile.maxOutputTokens).toBe(9);
  });

  it.each([true, false])('is what summaries with a fraction of the context need (trained: %s)', async (isTrained) => {
    const { model, episode } = open({
      replies: ({ text }) => (text.includes('Context Extraction') ? 'They said word.' : 'done'),
      contextLength: 4_000,
    });
    const middleware: unknown = summarizationMiddleware({
      model: (isTrained ? model : model.withConfig({ train: false })) as never,
      trigger: { fraction: 0.02 },
      keep: { messages: 1 },
    } as never);
    const agent = createAgent({ model, tools: [], middleware: [middleware as AgentMiddleware] });
    const said = [new HumanMessage('word '.repeat(80)), new AIMessage('yes'), new HumanMessage('go on')];
    const { messages } = await agent.invoke({ messages: said });
    expect(messages.at(-1)?.text).toBe('done');
    expect(episode.engine.requests).toHaveLength(2);
    expect(episode.engine.requests[1]?.text).toContain('They said word.');
    expect(episode.finish()).toMatchObject({ samples: { length: isTrained ? 2 : 1 } });
  });
});

it('withConfig({ train: false }) keeps calls of the same weights out of the training', async () => {
  const { model, episode } = open({ replies: ['a title', 'an answer'] });
  await model.withConfig({ train: false }).invoke('Find a title.');
  await model.invoke('hi');
  const { samples, calls } = episode.finish();
  expect([samples.length, calls.untrained, calls.answered]).toEqual([1, 1, 2]);
});

describe('a node that is interrupted after it has asked its model', () => {
  async function run(requestId: string | undefined): Promise<number> {
    const { model, episode } = open({ replies: ['draft one', 'draft two'] });
    const State = Annotation.Root({ ...MessagesAnnotation.spec, approved: Annotation<string> });
    const graph = new StateGraph(State)
      .addNode('draft', async () => {
        const draft = await model.invoke('Write a draft.', requestId === undefined ? {} : { requestId });
        return { messages: [draft], approved: String(interrupt(draft.text)) };
      })
      .addEdge('__start__', 'draft')
      .compile({ checkpointer: new MemorySaver() });
    const config = { configurable: { thread_id: 'one' } };
    await graph.invoke({ messages: [] }, config);
    const { messages, approved } = await graph.invoke(new Command({ resume: 'yes' }), config);
    expect(approved).toBe('yes');
    expect(messages.at(-1)?.text).toBe(requestId === undefined ? 'draft two' : 'draft one');
    expect(episode.finish().samples).toHaveLength(episode.engine.requests.length);
    return episode.engine.requests.length;
  }

  it('asks again when it is resumed, and once if its call has a requestId', async () => {
    expect([await run(undefined), await run('draft-1')]).toEqual([2, 1]);
  });
});
