import Anthropic from '@anthropic-ai/sdk';
import type { AdapterDriver, DriverAnswer, DriverCall } from '@agentjet/adapter-kit';
import type { EndpointHost, ModelOptions, OpenAIEndpoint, Tuner } from '@agentjet/rollout';
import { OpenAI } from 'openai';
import { openaiDriver } from '../adapters/openai-driver.js';

/** Drivers for the SDKs' own clients over HTTP. The contract suite uses each of them like an adapter. */
type Overload<C> = (tuner: Tuner, options: ModelOptions<C>) => C;

function overHttp<C>(host: EndpointHost, connect: (access: OpenAIEndpoint) => C): Overload<C> {
  return (tuner, options) =>
    tuner.selectModel(options, (model) =>
      connect(host.open({ episodeId: tuner.episodeId, agentName: options.agentName, model, signal: tuner.signal })),
    );
}

function toRequestOptions({ signal, requestId }: DriverCall) {
  return { ...(signal && { signal }), ...(requestId !== undefined && { headers: { 'idempotency-key': requestId } }) };
}

const toOpenAI = ({ baseUrl, apiKey }: OpenAIEndpoint): OpenAI =>
  new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 });

export function chatCompletionsDriver(host: EndpointHost): typeof openaiDriver {
  return { ...openaiDriver, name: 'chat completions', asModel: overHttp(host, toOpenAI) };
}

type Items = { readonly instructions: string; readonly input: readonly OpenAI.Responses.ResponseInputItem[] };

export function responsesDriver(host: EndpointHost): AdapterDriver<OpenAI, Items> {
  return {
    name: 'responses',
    asModel: overHttp(host, toOpenAI),
    debugModel: new OpenAI({ apiKey: 'unused' }),
    says: [
      'stream',
      'abort',
      'reasoning',
      'usage',
      'finishReason',
      'temperature',
      'topP',
      'maxTokens',
      'toolChoice',
      'parallelToolCalls',
      'requestId',
    ],
    begin: (question, instructions) => ({ instructions, input: [{ role: 'user', content: question }] }),
    addQuestion: (history, content) => ({ ...history, input: [...history.input, { role: 'user', content }] }),
    addToolResults: (history, results) => ({
      ...history,
      input: [
        ...history.input,
        ...results.map(({ id, content }) => ({ type: 'function_call_output' as const, call_id: id, output: content })),
      ],
    }),
    call: async (client, history, options) =>
      toResponsesAnswer(
        history,
        await client.responses.create(toResponsesBody(history, options), toRequestOptions(options)),
      ),
    stream: async (client, history, options, onText) => {
      const stream = client.responses.stream(toResponsesBody(history, options), toRequestOptions(options));
      stream.on('response.output_text.delta', ({ delta }) => onText(delta));
      return toResponsesAnswer(history, await stream.finalResponse());
    },
  };
}

function toResponsesBody(
  { instructions, input }: Items,
  { tools, sampling, toolChoice, parallelToolCalls }: DriverCall,
) {
  const { temperature, topP, maxTokens } = sampling;
  return {
    model: 'tuned',
    instructions,
    input: [...input],
    tools: tools.map(({ name, description = '', parameters }) => ({
      type: 'function' as const,
      name,
      description,
      parameters: { ...parameters },
      strict: false,
    })),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
    ...(toolChoice !== undefined && {
      tool_choice: typeof toolChoice === 'string' ? toolChoice : { type: 'function' as const, name: toolChoice.name },
    }),
    ...(parallelToolCalls !== undefined && { parallel_tool_calls: parallelToolCalls }),
  };
}

type Shown = Pick<OpenAI.Responses.Response, 'output' | 'status' | 'usage'>;

function toResponsesAnswer(history: Items, { output, status, usage }: Shown): DriverAnswer<Items> {
  const texts = output.flatMap((item) =>
    item.type === 'message' ? item.content.map((part) => (part.type === 'output_text' ? part.text : '')) : [],
  );
  const thoughts = output.flatMap((item) =>
    item.type === 'reasoning' ? (item.content ?? []).map(({ text }) => text) : [],
  );
  const toolCalls = output.flatMap((item) =>
    item.type === 'function_call' ? [{ id: item.call_id, name: item.name }] : [],
  );
  return {
    history: { ...history, input: [...history.input, ...(output as OpenAI.Responses.ResponseInputItem[])] },
    text: texts.join(''),
    toolCalls,
    reasoning: thoughts.length === 0 ? undefined : thoughts.join(''),
    finishReason: status === 'completed' && toolCalls.length > 0 ? 'tool_calls' : status,
    usage: { promptTokens: usage?.input_tokens, completionTokens: usage?.output_tokens },
  };
}

type Messages = { readonly system: string; readonly messages: readonly Anthropic.MessageParam[] };

export function anthropicDriver(host: EndpointHost): AdapterDriver<Anthropic, Messages> {
  const add = (history: Messages, content: Anthropic.MessageParam['content']): Messages => ({
    ...history,
    messages: [...history.messages, { role: 'user', content }],
  });
  return {
    name: 'messages',
    asModel: overHttp(
      host,
      ({ baseUrl, apiKey }) => new Anthropic({ baseURL: baseUrl.replace(/\/v1$/, ''), apiKey, maxRetries: 0 }),
    ),
    debugModel: new Anthropic({ apiKey: 'unused' }),
    says: [
      'stream',
      'abort',
      'reasoning',
      'usage',
      'finishReason',
      'temperature',
      'topP',
      'topK',
      'maxTokens',
      'stop',
      'toolChoice',
      'parallelToolCalls',
      'requestId',
    ],
    begin: (question, system) => ({ system, messages: [{ role: 'user', content: question }] }),
    addQuestion: add,
    addToolResults: (history, results) =>
      results.length === 0
        ? history
        : add(
            history,
            results.map(({ id, content }) => ({ type: 'tool_result', tool_use_id: id, content })),
          ),
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
