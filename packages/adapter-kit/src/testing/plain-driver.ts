import type { ChatMessage, ChatModel } from '@agentjet/core';
import { features, type AdapterDriver, type DriverAnswer, type DriverCall } from '../driver.js';

type History = readonly ChatMessage[];

async function call(
  model: ChatModel,
  history: History,
  { tools, sampling, toolChoice, parallelToolCalls, requestId, signal }: DriverCall,
  onText?: (text: string) => void,
): Promise<DriverAnswer<History>> {
  const { message, finishReason, usage } = await model.generate(
    {
      messages: history,
      tools,
      sampling,
      ...(toolChoice && { toolChoice }),
      ...(parallelToolCalls === false && { parallelToolCalls }),
      ...(requestId && { requestId }),
    },
    {
      ...(signal && { signal }),
      ...(onText && { onDelta: (delta) => delta.type === 'content' && onText(delta.text) }),
    },
  );
  return {
    history: [...history, message],
    text: message.content,
    toolCalls: message.toolCalls ?? [],
    reasoning: message.reasoning,
    finishReason,
    usage,
  };
}

/**
 * The smallest possible framework, for tests. Its model is ChatModel itself, and its history is a list of our messages.
 */
export const plainDriver: AdapterDriver<ChatModel, History> = {
  name: 'plain',
  asModel: (tuner, options) => tuner.selectModel(options, (model) => model),
  debugModel: { name: 'debug', generate: () => Promise.reject(new Error('not asked')) },
  says: features,
  begin: (question, system) => [
    { role: 'system', content: system },
    { role: 'user', content: question },
  ],
  addQuestion: (history, content) => [...history, { role: 'user', content }],
  addToolResults: (history, results) => [
    ...history,
    ...results.map(({ id, name, content }) => ({ role: 'tool' as const, toolCallId: id, name, content })),
  ],
  withoutThinking: (history) =>
    history.map((message) => {
      if (message.role !== 'assistant') return message;
      const { reasoning: _reasoning, ...others } = message;
      return others;
    }),
  addOthersAnswers: (history, content) => [
    [...history, { role: 'assistant', content, reasoning: 'hm' }],
    [
      ...history,
      { role: 'assistant', content, toolCalls: [{ id: 'x', name: 'look', arguments: '' }] },
      { role: 'tool', toolCallId: 'x', content: 'nothing' },
    ],
  ],
  call,
  stream: call,
};
