import { openScriptedEpisode } from '@agentjet/rollout/testing';
import type { BaseChatModelCallOptions } from '@langchain/core/language_models/chat_models';
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { RunnableLambda, RunnableSequence } from '@langchain/core/runnables';
import { tool, type ToolRuntime, type ToolRunnableConfig } from '@langchain/core/tools';
import {
  Annotation,
  InMemoryStore,
  type LangGraphRunnableConfig,
  MemorySaver,
  MessagesAnnotation,
  type PregelOptions,
  StateGraph,
} from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { createAgent } from 'langchain';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isPlumbing } from './check-call-options.js';
import { asModel, type TunedChatModel } from './index.js';

/** Every key of the frameworks' types. If a version adds one, this does not compile. */
type FrameworkKeys =
  | keyof BaseChatModelCallOptions
  | keyof ToolRunnableConfig
  | keyof ToolRuntime
  | keyof LangGraphRunnableConfig
  | keyof PregelOptions<never, never>;
type Wishes = 'stop' | 'tool_choice' | 'maxRetries';
const frameworkKeys: Readonly<Record<Exclude<FrameworkKeys, Wishes>, true>> = {
  cache: true,
  callbacks: true,
  checkpointDuring: true,
  configurable: true,
  config: true,
  context: true,
  control: true,
  debug: true,
  durability: true,
  encoding: true,
  executionInfo: true,
  heartbeat: true,
  inputKeys: true,
  interrupt: true,
  interruptAfter: true,
  interruptBefore: true,
  ls_structured_output_format: true,
  maxConcurrency: true,
  metadata: true,
  outputKeys: true,
  outputVersion: true,
  recursionLimit: true,
  runId: true,
  runName: true,
  serverInfo: true,
  signal: true,
  state: true,
  store: true,
  streamMode: true,
  subgraphs: true,
  tags: true,
  timeout: true,
  toolCall: true,
  toolCallId: true,
  writer: true,
};

const call = (name: string): string =>
  `<tool_call>\n{"name": "${name}", "arguments": {"question": "why"}}\n</tool_call>`;
const schema = z.object({ question: z.string() });

function openModel(replies: readonly string[]) {
  const episode = openScriptedEpisode({ replies });
  return { episode, model: asModel(episode.tuner, { agentName: 'solver' }) };
}

it.each(Object.keys(frameworkKeys))('%s is the framework’s own', (name) => {
  expect(isPlumbing(name)).toBe(true);
});

describe('a config that LangChain made is passed to the model', () => {
  const ways: Readonly<Record<string, (model: TunedChatModel, config: object) => Promise<{ readonly text: string }>>> =
    {
      invoke: (model, config) => model.invoke('why', config),
      stream: async (model, config) => {
        let text = '';
        for await (const chunk of await model.stream('why', config)) text += chunk.text;
        return { text };
      },
      batch: async (model, config) => (await model.batch(['why'], config))[0] ?? { text: 'none' },
      'withConfig().invoke': (model, config) => model.withConfig(config).invoke('why'),
      'streamEvents v3': async (model, config) => model.streamEvents('why', { ...config, version: 'v3' } as object),
    };

  it.each(Object.entries(ways))('in a tool of createAgent, by %s', async (_way, ask) => {
    const { episode, model } = openModel([call('think'), 'because', 'done']);
    const think = tool(async (_input, config) => (await ask(model, config)).text, { name: 'think', schema });
    const agent = createAgent({ model, tools: [think], checkpointer: new MemorySaver(), store: new InMemoryStore() });
    const { messages } = await agent.invoke(
      { messages: [new HumanMessage('go')] },
      {
        configurable: { thread_id: 'one', other: 1 },
        durability: 'sync',
        tags: ['a'],
        metadata: { b: 1 },
        recursionLimit: 9,
      },
    );
    expect(messages.filter((message) => ToolMessage.isInstance(message)).map(({ text }) => text)).toEqual(['because']);
    expect(episode.finish().calls).toMatchObject({ answered: 3, failed: 0 });
  });

  it.each(Object.entries(ways))('in a tool of a ToolNode and in a node of a graph, by %s', async (_way, ask) => {
    const { episode, model } = openModel(['from the node', 'because']);
    const think = tool(async (_input, config) => (await ask(model, config)).text, { name: 'think', schema });
    const State = Annotation.Root({ ...MessagesAnnotation.spec, note: Annotation<string> });
    const graph = new StateGraph(State)
      .addNode('ask', async (_state, config) => {
        const { text } = await ask(model, config);
        const toolCall = { id: 'c', name: 'think', args: { question: 'why' } };
        return { messages: [new AIMessage({ content: text, tool_calls: [toolCall] })], note: 'n' };
      })
      .addNode('tools', new ToolNode([think], { handleToolErrors: false }))
      .addEdge('__start__', 'ask')
      .addEdge('ask', 'tools')
      .compile({ checkpointer: new MemorySaver(), store: new InMemoryStore() });
    const config = { configurable: { thread_id: 'one' }, interruptAfter: ['tools' as const], context: { user: 'u' } };
    for await (const _part of await graph.stream(
      { messages: [] },
      { ...config, streamMode: ['values', 'messages'], subgraphs: true, debug: false },
    ));
    expect(episode.finish().calls).toMatchObject({ answered: 2, failed: 0 });
  });

  it('in a chain, and with the options of a graph’s run', async () => {
    const { episode, model } = openModel(['because']);
    const step = RunnableLambda.from(async (input: string, config) => (await model.invoke(input, config)).text);
    await RunnableSequence.from([step, model]).invoke('why', {
      tags: ['a'],
      maxConcurrency: 2,
      runName: 'r',
      timeout: 9_000,
    });
    await model.invoke('why', {
      streamMode: 'values',
      durability: 'async',
      version: 'v2',
      interruptBefore: ['x'],
    } as object);
    expect(episode.finish().calls).toMatchObject({ answered: 3, failed: 0 });
  });
});

it('what is not the framework’s own is refused by its name, in a tool too', async () => {
  const { model } = openModel([call('think'), 'because', 'done']);
  await expect(model.invoke('why', { temprature: 1 } as object)).rejects.toThrow(/"temprature" is not known/);
  const think = tool(
    async (_input, config) => (await model.invoke('why', { ...config, temprature: 1 } as object)).text,
    {
      name: 'think',
      schema,
    },
  );
  const agent = createAgent({ model, tools: [think] });
  const { messages } = await agent.invoke({ messages: [new HumanMessage('go')] });
  expect(messages.find((message) => ToolMessage.isInstance(message))?.text).toMatch(/"temprature" is not known/);
});
