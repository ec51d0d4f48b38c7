import Anthropic from '@anthropic-ai/sdk';
import type { AdapterDriver, DriverAnswer, DriverCall } from '@agentjet/adapter-kit';
import type { EndpointHost, ModelOptions, OpenAIEndpoint, Tuner } from '@agentjet/rollout';
import { GoogleGenAI } from '@google/genai';
import { OpenAI } from 'openai';
import { anthropicDriver } from '../adapters/anthropic-driver.js';
import { googleDriver } from '../adapters/google-driver.js';
import { openaiDriver, toRequestOptions } from '../adapters/openai-driver.js';

/** Drivers for the SDKs' own clients over HTTP. The contract suite uses each of them like an adapter. */
type Overload<C> = (tuner: Tuner, options: ModelOptions<C>) => C;

function overHttp<C>(host: EndpointHost, connect: (access: OpenAIEndpoint) => C): Overload<C> {
  return (tuner, options) =>
    tuner.selectModel(options, (model) =>
      connect(host.open({ episodeId: tuner.episodeId, agentName: options.agentName, model, signal: tuner.signal })),
    );
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

export function messagesDriver(host: EndpointHost): typeof anthropicDriver {
  const asModel = overHttp(
    host,
    ({ baseUrl, apiKey }) => new Anthropic({ baseURL: baseUrl.replace(/\/v1$/, ''), apiKey, maxRetries: 0 }),
  );
  return { ...anthropicDriver, name: 'messages', asModel };
}

export function geminiDriver(host: EndpointHost): typeof googleDriver {
  const asModel = overHttp(
    host,
    ({ baseUrl, apiKey }) =>
      new GoogleGenAI({ apiKey, vertexai: false, httpOptions: { baseUrl: baseUrl.replace(/\/v1$/, '') } }),
  );
  return { ...googleDriver, name: 'gemini', asModel };
}
