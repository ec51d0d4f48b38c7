import { features, type AdapterDriver, type DriverAnswer, type DriverCall } from '@agentjet/adapter-kit';
import { asModel } from '@agentjet/ai-sdk';
import type { LanguageModelV3 } from '@ai-sdk/provider';
import { generateText, jsonSchema, type ModelMessage, pruneMessages, streamText, tool, type ToolSet } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';

type History = { readonly system: string; readonly messages: readonly ModelMessage[] };

function toSettings(
  model: LanguageModelV3,
  { system, messages }: History,
  { tools, sampling, toolChoice, parallelToolCalls, requestId, signal }: DriverCall,
) {
  const { temperature, topP, topK, maxTokens, stop, seed } = sampling;
  const toolSet: ToolSet = Object.fromEntries(
    tools.map(({ name, description, parameters }) => [
      name,
      tool({ description: description ?? '', inputSchema: jsonSchema({ ...parameters }) }),
    ]),
  );
  return {
    model,
    system,
    messages: [...messages],
    tools: toolSet,
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(stop !== undefined && { stopSequences: [...stop] }),
    ...(seed !== undefined && { seed }),
    ...(toolChoice !== undefined && {
      toolChoice: typeof toolChoice === 'string' ? toolChoice : { type: 'tool' as const, toolName: toolChoice.name },
    }),
    providerOptions: {
      agentjet: {
        ...(parallelToolCalls !== undefined && { parallelToolCalls }),
        ...(requestId !== undefined && { requestId }),
      },
    },
    ...(signal !== undefined && { abortSignal: signal }),
  };
}

type Shown = {
  readonly text: string;
  readonly toolCalls: readonly { readonly toolCallId: string; readonly toolName: string }[];
  readonly reasoningText: string | undefined;
  readonly finishReason: string;
  readonly usage: { readonly inputTokens: number | undefined; readonly outputTokens: number | undefined };
  readonly response: { readonly messages: readonly ModelMessage[] };
};

function toAnswer(
  history: History,
  { text, toolCalls, reasoningText, finishReason, usage, response }: Shown,
): DriverAnswer<History> {
  return {
    history: {
      ...history,
      messages: [...history.messages, ...response.messages.filter(({ role }) => role === 'assistant')],
    },
    text,
    toolCalls: toolCalls.map(({ toolCallId, toolName }) => ({ id: toolCallId, name: toolName })),
    reasoning: reasoningText,
    finishReason,
    usage: { promptTokens: usage.inputTokens, completionTokens: usage.outputTokens },
  };
}

const image = { type: 'file', data: 'AAAA', mediaType: 'image/png' };
const othersParts: readonly (readonly object[])[] = [
  [{ type: 'reasoning', text: 'hm', providerOptions: { anthropic: { redactedData: 'EuY' } } }],
  [image, image],
  [
    { type: 'tool-call', toolCallId: 's', toolName: 'web_search', input: {}, providerExecuted: true },
    { type: 'tool-result', toolCallId: 's', toolName: 'web_search', output: { type: 'json', value: [] } },
  ],
];

export const aiSdkDriver: AdapterDriver<LanguageModelV3, History> = {
  name: 'ai-sdk',
  asModel,
  debugModel: new MockLanguageModelV3(),
  says: features,
  begin: (question, system) => ({ system, messages: [{ role: 'user', content: question }] }),
  addQuestion: (history, content) => ({ ...history, messages: [...history.messages, { role: 'user', content }] }),
  addToolResults: (history, results) =>
    results.length === 0
      ? history
      : {
          ...history,
          messages: [
            ...history.messages,
            {
              role: 'tool',
              content: results.map(({ id, name, content }) => ({
                type: 'tool-result',
                toolCallId: id,
                toolName: name,
                output: { type: 'text', value: content },
              })),
            },
          ],
        },
  withoutThinking: (history) => ({
    ...history,
    messages: pruneMessages({ messages: [...history.messages], reasoning: 'all' }),
  }),
  addOthersAnswers: (history, text) =>
    othersParts.map((parts) => ({
      ...history,
      messages: [
        ...history.messages,
        { role: 'assistant', content: [...parts, { type: 'text', text }] } as ModelMessage,
      ],
    })),
  call: async (model, history, options) => toAnswer(history, await generateText(toSettings(model, history, options))),
  stream: async (model, history, options, onText) => {
    let failure: unknown;
    const result = streamText({
      ...toSettings(model, history, options),
      onError: ({ error }) => void (failure = error),
    });
    for await (const text of result.textStream) onText(text);
    if (failure !== undefined) throw failure;
    const [text, toolCalls, reasoningText, finishReason, usage, response] = await Promise.all([
      result.text,
      result.toolCalls,
      result.reasoningText,
      result.finishReason,
      result.usage,
      result.response,
    ]);
    return toAnswer(history, { text, toolCalls, reasoningText, finishReason, usage, response });
  },
};
