import { features, type AdapterDriver, type DriverAnswer, type DriverCall } from '@agentjet/adapter-kit';
import { asModel, type TunedCallOptions, TunedChatModel } from '@agentjet/langgraph';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';

type History = readonly BaseMessage[];

function toOptions({
  tools,
  sampling,
  toolChoice,
  parallelToolCalls,
  requestId,
  signal,
}: DriverCall): Partial<TunedCallOptions> {
  const { stop, ...others } = sampling;
  return {
    ...others,
    ...(stop !== undefined && { stop: [...stop] }),
    ...(toolChoice !== undefined && { tool_choice: typeof toolChoice === 'string' ? toolChoice : toolChoice.name }),
    ...(parallelToolCalls !== undefined && { parallel_tool_calls: parallelToolCalls }),
    ...(requestId !== undefined && { requestId }),
    ...(signal !== undefined && { signal }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: 'function',
        function: { name, description: description ?? '', parameters },
      })),
    }),
  };
}

function toAnswer(history: History, message: AIMessageChunk): DriverAnswer<History> {
  const usage = message.usage_metadata as { input_tokens: number; output_tokens: number } | undefined;
  return {
    history: [...history, message],
    text: message.text,
    toolCalls: (message.tool_calls ?? []).map(({ id = '', name }) => ({ id, name })),
    reasoning: message.additional_kwargs['reasoning_content'] as string | undefined,
    finishReason: message.response_metadata['finish_reason'] as string | undefined,
    usage: { promptTokens: usage?.input_tokens, completionTokens: usage?.output_tokens },
  };
}

function tuned(model: BaseChatModel): TunedChatModel {
  if (!(model instanceof TunedChatModel)) throw new Error('not the tuned model');
  return model;
}

const othersBlocks: readonly object[] = [
  { type: 'thinking', thinking: 'hm', signature: 's' },
  { type: 'redacted_thinking', data: 'EuY' },
  { type: 'reasoning_content', reasoningText: { text: 'hm' } },
  { type: 'refusal', refusal: 'No. ' },
  { type: 'tool_use', id: 'x', name: 'look', input: '' },
  { type: 'input_json_delta', index: 1, input: '{' },
  { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
  { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
  { type: 'non_standard', value: {} },
  { executableCode: { code: '1' } },
];

export const langgraphDriver: AdapterDriver<BaseChatModel, History> = {
  name: 'langgraph',
  asModel,
  debugModel: new FakeListChatModel({ responses: ['unused'] }),
  says: features,
  begin: (question, system) => [new SystemMessage(system), new HumanMessage({ content: question })],
  addQuestion: (history, question) => [...history, new HumanMessage({ content: question })],
  addToolResults: (history, results) => [
    ...history,
    ...results.map(({ id, name, content }) => new ToolMessage({ tool_call_id: id, name, content })),
  ],
  withoutThinking: (history) =>
    history.map((message) => {
      if (!AIMessage.isInstance(message) && !AIMessageChunk.isInstance(message)) return message;
      const { reasoning_content: _reasoning, ...others } = message.additional_kwargs;
      const { content, tool_calls = [], invalid_tool_calls = [] } = message;
      return new AIMessage({ content, tool_calls, invalid_tool_calls, additional_kwargs: others });
    }),
  addOthersAnswers: (history, text) =>
    othersBlocks.map((block) => [...history, new AIMessage({ content: [block, { type: 'text', text }] as never })]),
  call: async (model, history, options) =>
    toAnswer(history, await tuned(model).invoke([...history], toOptions(options))),
  stream: async (model, history, options, onText) => {
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await tuned(model).stream([...history], toOptions(options))) {
      if (chunk.text !== '') onText(chunk.text);
      whole = whole === undefined ? chunk : whole.concat(chunk);
    }
    return toAnswer(history, whole ?? new AIMessageChunk(''));
  },
};
