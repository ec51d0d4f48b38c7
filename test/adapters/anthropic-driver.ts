import { type AdapterDriver, type DriverAnswer, type DriverCall, features } from '@agentjet/adapter-kit';
import { asModel } from '@agentjet/anthropic';
import { Anthropic } from '@anthropic-ai/sdk';
import { toRequestOptions } from './openai-driver.js';

type Messages = { readonly system: string; readonly messages: readonly Anthropic.MessageParam[] };

function add(history: Messages, content: Anthropic.MessageParam['content']): Messages {
  return { ...history, messages: [...history.messages, { role: 'user', content }] };
}

function toMessagesBody(
  { system, messages }: Messages,
  { tools, sampling, toolChoice, parallelToolCalls }: DriverCall,
): Anthropic.MessageCreateParamsNonStreaming {
  const { temperature, topP, topK, maxTokens = 1000, stop } = sampling;
  const single = parallelToolCalls === false && { disable_parallel_tool_use: true };
  return {
    model: 'tuned',
    system,
    messages: [...messages],
    max_tokens: maxTokens,
    tools: tools.map(({ name, description = '', parameters }) => ({
      name,
      description,
      input_schema: { ...parameters, type: 'object' },
    })),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(topK !== undefined && { top_k: topK }),
    ...(stop !== undefined && { stop_sequences: [...stop] }),
    ...(toolChoice === 'none' && { tool_choice: { type: 'none' } }),
    ...(toolChoice === 'required' && { tool_choice: { type: 'any', ...single } }),
    ...(typeof toolChoice === 'object' && { tool_choice: { type: 'tool', ...toolChoice, ...single } }),
    ...(toolChoice === undefined && single && { tool_choice: { type: 'auto', ...single } }),
  };
}

function toMessagesAnswer(history: Messages, message: Anthropic.Message): DriverAnswer<Messages> {
  const { content, stop_reason: stopReason, usage } = message;
  const thoughts = content.flatMap((block) => (block.type === 'thinking' ? [block.thinking] : []));
  const finishReasons: Readonly<Record<string, string>> = {
    max_tokens: 'length',
    end_turn: 'stop',
    stop_sequence: 'stop',
    tool_use: 'tool_calls',
  };
  return {
    history: { ...history, messages: [...history.messages, { role: 'assistant', content }] },
    text: content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(''),
    toolCalls: content.flatMap((block) => (block.type === 'tool_use' ? [{ id: block.id, name: block.name }] : [])),
    reasoning: thoughts.length === 0 ? undefined : thoughts.join(''),
    finishReason: finishReasons[stopReason ?? ''],
    usage: { promptTokens: usage.input_tokens, completionTokens: usage.output_tokens },
  };
}

/** Answers of Anthropic's own models, with blocks that another model cannot read. */
const othersAnswers = (text: string): readonly (readonly object[])[] => [
  [
    { type: 'redacted_thinking', data: 'EuY' },
    { type: 'text', text, citations: [] },
  ],
  [
    { type: 'thinking', thinking: 'hm', signature: 'EqQB' },
    { type: 'text', text },
  ],
  [
    { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'x' } },
    { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
    { type: 'text', text },
  ],
];

export const anthropicDriver: AdapterDriver<Anthropic, Messages> = {
  name: 'anthropic',
  asModel,
  debugModel: new Anthropic({ apiKey: 'unused' }),
  says: features.filter((feature) => feature !== 'seed'),
  required: ['maxTokens'],
  begin: (question, system) => ({ system, messages: [{ role: 'user', content: question }] }),
  addQuestion: add,
  addToolResults: (history, results) =>
    results.length === 0
      ? history
      : add(
          history,
          results.map(({ id, content }) => ({ type: 'tool_result', tool_use_id: id, content })),
        ),
  withoutThinking: ({ system, messages }) => ({
    system,
    messages: messages.map((message) => {
      const { content } = message;
      if (message.role !== 'assistant' || typeof content === 'string') return message;
      return { ...message, content: content.filter(({ type }) => type !== 'thinking') };
    }),
  }),
  addOthersAnswers: (history, text) =>
    othersAnswers(text).map((content) => ({
      ...history,
      messages: [...history.messages, { role: 'assistant', content: content as Anthropic.ContentBlockParam[] }],
    })),
  call: async (client, history, options) =>
    toMessagesAnswer(
      history,
      await client.messages.create(toMessagesBody(history, options), toRequestOptions(options)),
    ),
  stream: async (client, history, options, onText) => {
    const stream = client.messages.stream(toMessagesBody(history, options), toRequestOptions(options));
    stream.on('text', onText);
    return toMessagesAnswer(history, await stream.finalMessage());
  },
};
