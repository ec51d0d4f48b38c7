import { features, type AdapterDriver, type DriverAnswer, type DriverCall } from '@agentjet/adapter-kit';
import { asModel } from '@agentjet/openai';
import { OpenAI } from 'openai';

type History = readonly OpenAI.ChatCompletionMessageParam[];
type Thinking = { readonly reasoning_content?: string };

function toBody(
  history: History,
  { tools, sampling, toolChoice, parallelToolCalls }: DriverCall,
): OpenAI.ChatCompletionCreateParamsNonStreaming {
  const { temperature, topP, topK, maxTokens, stop, seed } = sampling;
  return {
    model: 'tuned',
    messages: [...history],
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: 'function' as const,
        function: { name, ...(description && { description }), parameters: { ...parameters } },
      })),
    }),
    ...(toolChoice !== undefined && {
      tool_choice: typeof toolChoice === 'string' ? toolChoice : { type: 'function', function: toolChoice },
    }),
    ...(parallelToolCalls !== undefined && { parallel_tool_calls: parallelToolCalls }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(topK !== undefined && { top_k: topK }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(stop !== undefined && { stop: [...stop] }),
    ...(seed !== undefined && { seed }),
  };
}

function toAnswer(
  history: History,
  message: OpenAI.ChatCompletionMessage,
  finishReason: string,
): DriverAnswer<History> {
  const toolCalls = (message.tool_calls ?? []).map((call) => ({
    id: call.id,
    name: call.type === 'function' ? call.function.name : '',
  }));
  return {
    history: [...history, message],
    text: message.content ?? '',
    toolCalls,
    reasoning: (message as Thinking).reasoning_content,
    finishReason,
  };
}

/** The options of a request to the clients of OpenAI and Anthropic. */
export function toRequestOptions({ signal, requestId }: DriverCall) {
  return { ...(signal && { signal }), ...(requestId !== undefined && { headers: { 'idempotency-key': requestId } }) };
}

async function call(client: OpenAI, history: History, options: DriverCall): Promise<DriverAnswer<History>> {
  const { choices, usage } = await client.chat.completions.create(toBody(history, options), toRequestOptions(options));
  const [choice] = choices;
  if (choice === undefined) throw new Error('no choice');
  return {
    ...toAnswer(history, choice.message, choice.finish_reason),
    usage: { promptTokens: usage?.prompt_tokens, completionTokens: usage?.completion_tokens },
  };
}

/** Streams an answer. The SDK's own stream helper assembles the message. */
async function stream(
  client: OpenAI,
  history: History,
  options: DriverCall,
  onText: (text: string) => void,
): Promise<DriverAnswer<History>> {
  const helper = client.chat.completions.stream(
    { ...toBody(history, options), stream: true },
    toRequestOptions(options),
  );
  for await (const chunk of helper) {
    const text = chunk.choices[0]?.delta.content;
    if (text) onText(text);
  }
  const { choices } = await helper.finalChatCompletion();
  const [choice] = choices;
  if (choice === undefined) throw new Error('no choice');
  return toAnswer(history, choice.message, choice.finish_reason);
}

const othersAnswers = (text: string): readonly (readonly object[])[] => [
  [{ role: 'assistant', content: text, reasoning_content: 'hm', annotations: [], audio: null }],
  [{ role: 'assistant', content: null, refusal: text }],
  [{ role: 'assistant', content: [{ type: 'refusal', refusal: text }] }],
  [
    {
      role: 'assistant',
      content: [
        { type: 'image_url', image_url: { url: 'data:' } },
        { type: 'text', text },
      ],
    },
  ],
  [
    {
      role: 'assistant',
      content: [
        { type: 'redacted_thinking', data: 'EuY' },
        { type: 'text', text },
      ],
    },
  ],
  [
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text },
      ],
    },
  ],
  [
    {
      role: 'assistant',
      content: text,
      tool_calls: [{ id: 'x', type: 'function', function: { name: 'look', arguments: '' } }],
    },
    { role: 'tool', tool_call_id: 'x', content: 'nothing' },
  ],
];

export const openaiDriver: AdapterDriver<OpenAI, History> = {
  name: 'openai',
  asModel,
  debugModel: new OpenAI({ apiKey: 'unused' }),
  says: features,
  begin: (question, system) => [
    { role: 'system', content: system },
    { role: 'user', content: question },
  ],
  addQuestion: (history, content) => [...history, { role: 'user', content }],
  addToolResults: (history, results) => [
    ...history,
    ...results.map(({ id, content }) => ({ role: 'tool' as const, tool_call_id: id, content })),
  ],
  withoutThinking: (history) =>
    history.map((message) => {
      const { reasoning_content: _reasoning, ...others } = message as typeof message & Thinking;
      return others as typeof message;
    }),
  addOthersAnswers: (history, text) =>
    othersAnswers(text).map((answers) => [...history, ...(answers as unknown as History)]),
  call,
  stream,
};
