import { features, type AdapterDriver, type DriverAnswer, type DriverCall } from '@agentjet/adapter-kit';
import { asModel } from '@agentjet/openai-agents';
import type { AgentInputItem, Model, ModelRequest, ModelResponse } from '@openai/agents';

type History = { readonly system: string; readonly items: readonly AgentInputItem[] };

function toRequest(
  { system, items }: History,
  { tools, sampling, toolChoice, parallelToolCalls, requestId, signal }: DriverCall,
): ModelRequest {
  const { temperature, topP, maxTokens, ...others } = sampling;
  return {
    systemInstructions: system,
    input: [...items],
    modelSettings: {
      ...(temperature !== undefined && { temperature }),
      ...(topP !== undefined && { topP }),
      ...(maxTokens !== undefined && { maxTokens }),
      ...(toolChoice !== undefined && { toolChoice: typeof toolChoice === 'string' ? toolChoice : toolChoice.name }),
      ...(parallelToolCalls !== undefined && { parallelToolCalls }),
      providerData: { ...others, ...(requestId !== undefined && { requestId }) },
    },
    tools: tools.map(({ name, description, parameters }) => ({
      type: 'function',
      name,
      description: description ?? '',
      parameters: { type: 'object', properties: {}, required: [], additionalProperties: false, ...parameters },
      strict: false,
    })),
    outputType: 'text',
    handoffs: [],
    tracing: false,
    ...(signal !== undefined && { signal }),
  };
}

type Shown = Pick<ModelResponse, 'output'> & {
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
  readonly providerData?: Record<string, unknown> | undefined;
};

function toAnswer(history: History, { output, usage, providerData }: Shown): DriverAnswer<History> {
  const texts = output.flatMap((item) =>
    item.type === 'message' && item.role === 'assistant'
      ? item.content.map((part) => (part.type === 'output_text' ? part.text : ''))
      : [],
  );
  const thoughts = output.flatMap((item) =>
    item.type === 'reasoning' ? (item.rawContent ?? []).map(({ text }) => text) : [],
  );
  return {
    history: { ...history, items: [...history.items, ...(structuredClone(output) as AgentInputItem[])] },
    text: texts.join(''),
    toolCalls: output.flatMap((item) => (item.type === 'function_call' ? [{ id: item.callId, name: item.name }] : [])),
    reasoning: thoughts.length === 0 ? undefined : thoughts.join(''),
    finishReason: providerData?.['finishReason'] as string | undefined,
    usage: { promptTokens: usage.inputTokens, completionTokens: usage.outputTokens },
  };
}

const message = { type: 'message', role: 'assistant', status: 'completed' };
const othersItems: readonly (readonly object[])[] = [
  [{ type: 'reasoning', content: [{ type: 'input_text', text: 'hm' }], providerData: { encrypted_content: 'EuY' } }],
  [{ type: 'hosted_tool_call', name: 'web_search_call', status: 'completed' }],
  [{ type: 'compaction', encrypted_content: 'EuY' }],
  [{ type: 'unknown', providerData: {} }],
  [{ ...message, content: [{ type: 'refusal', refusal: 'No.' }] }],
  [{ ...message, content: [{ type: 'image', image: 'AAAA' }] }],
  [
    { type: 'function_call', callId: 'x', name: 'look', arguments: '', status: 'completed' },
    { type: 'function_call_result', callId: 'x', name: 'look', status: 'completed', output: 'nothing' },
  ],
];

export const openaiAgentsDriver: AdapterDriver<Model, History> = {
  name: 'openai-agents',
  asModel,
  debugModel: {
    getResponse: () => Promise.reject(new Error('never called')),
    getStreamedResponse: () => {
      throw new Error('never called');
    },
  },
  says: features,
  begin: (question, system) => ({ system, items: [{ role: 'user', content: question }] }),
  addQuestion: (history, content) => ({ ...history, items: [...history.items, { role: 'user', content }] }),
  addToolResults: (history, results) => ({
    ...history,
    items: [
      ...history.items,
      ...results.map(
        ({ id, name, content }): AgentInputItem => ({
          type: 'function_call_result',
          callId: id,
          name,
          status: 'completed',
          output: { type: 'text', text: content },
        }),
      ),
    ],
  }),
  withoutThinking: (history) => ({ ...history, items: history.items.filter(({ type }) => type !== 'reasoning') }),
  addOthersAnswers: (history, text) =>
    othersItems.map((others) => ({
      ...history,
      items: [
        ...history.items,
        ...(others as readonly AgentInputItem[]),
        { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] },
      ],
    })),
  call: async (model, history, options) => toAnswer(history, await model.getResponse(toRequest(history, options))),
  stream: async (model, history, options, onText) => {
    for await (const event of model.getStreamedResponse(toRequest(history, options))) {
      if (event.type === 'output_text_delta') onText(event.delta);
      if (event.type === 'response_done') return toAnswer(history, event.response as Shown);
    }
    throw new Error('The stream ended without response_done.');
  },
};
