import {
  answerAll,
  type Api,
  ApiError,
  type EventProtocol,
  parseBody,
  PendingLogprobs,
  type ProtocolCall,
} from '@agentjet/chat-completions';
import { isJsonObject } from '@agentjet/core';
import { toGeminiErrorBody } from './error.js';
import { toNormalBody } from './normal-body.js';
import { fromGenerateContentBody } from './request.js';
import {
  type AnswerView,
  createHead,
  toChunk,
  toDeltaPart,
  toGenerateContentResponse,
  toLastResponse,
} from './response.js';
import { type GenerateContentBody, generateContentSchema } from './schema.js';

const protocol: EventProtocol = {
  toErrorBody: toGeminiErrorBody,
  sendError: (stream, error) => stream.send(toGeminiErrorBody(error)),
  hasDataOnly: true,
};

const methods = {
  generateContent: handleGenerate,
  streamGenerateContent: handleStream,
  countTokens: handleCount,
} as const;

/** The SDK uses v1beta until version 2, and v1 since version 3. */
const versions = ['v1beta', 'v1alpha', 'v1'];

/** Gemini's generateContent, in all versions of its address. */
export const generateContentApi: Api = {
  routes: versions.map((version) => ({
    protocol: 'gemini',
    path: `/${version}/models/:call`,
    complete: completeBody,
    handle: (call) => methods[methodOf(call.url)](call),
  })),
  paths: /\/v1(beta|alpha)\/|\/models\/[^/]+:[a-zA-Z]+$/,
  toErrorBody: toGeminiErrorBody,
  models: {
    paths: versions.map((version) => `/${version}/models`),
    header: 'x-goog-api-key',
    list: (name) => ({ models: [describeModel(name)] }),
    show: describeModel,
  },
};

function describeModel(name: string) {
  const supportedGenerationMethods = Object.keys(methods);
  return { name: `models/${name}`, baseModelId: name, displayName: name, version: '1', supportedGenerationMethods };
}

function lastPart(url: URL): readonly string[] {
  return decodeURIComponent(url.pathname.split('/').at(-1) ?? '').split(':');
}

function methodOf(url: URL): keyof typeof methods {
  const [, method = ''] = lastPart(url);
  if (Object.hasOwn(methods, method)) return method as keyof typeof methods;
  const served = Object.keys(methods).join(', ');
  throw new ApiError(404, 'unknown_url', `${url.pathname} is not served. A model has the methods ${served}.`);
}

/** Gives the body its one form, and adds the model of the address. */
function completeBody(body: unknown, url: URL): unknown {
  const normal = toNormalBody(body);
  if (!isJsonObject(normal)) return normal;
  const inner = normal['generateContentRequest'];
  const [model = ''] = lastPart(url);
  return { ...(methodOf(url) === 'countTokens' && isJsonObject(inner) ? inner : normal), model };
}

function read(call: ProtocolCall) {
  const body = parseBody('gemini', generateContentSchema, call.body);
  return { request: fromGenerateContentBody(body), view: toView(body), n: body.generationConfig?.candidateCount ?? 1 };
}

function toView({ model, generationConfig }: GenerateContentBody): AnswerView {
  const withThoughts = generationConfig?.thinkingConfig?.includeThoughts === true;
  return { model, withThoughts, withLogprobs: generationConfig?.responseLogprobs === true };
}

async function handleGenerate(call: ProtocolCall): Promise<Response> {
  const { view, ...asked } = read(call);
  const answers = answerAll(call, asked, (request) => call.generate(request));
  const head = createHead(view);
  return call.respondJson(
    answers.then((responses) => toGenerateContentResponse(head, responses, view)),
    protocol,
  );
}

/** Streams server-sent events, or a list of all pieces for a request without `alt=sse`. */
async function handleStream(call: ProtocolCall): Promise<Response> {
  const asked = read(call);
  if (call.url.searchParams.get('alt') === 'sse')
    return call.respondEvents((stream) => streamAnswers(call, asked, stream.send), protocol);
  const chunks: unknown[] = [];
  const pending = streamAnswers(call, asked, (chunk) => void chunks.push(chunk)).then(() => chunks);
  return call.respondJson(pending, protocol);
}

async function streamAnswers(
  call: ProtocolCall,
  { view, ...asked }: ReturnType<typeof read>,
  send: (chunk: unknown) => void,
): Promise<void> {
  const head = createHead(view);
  await answerAll(call, asked, async (request, index) => {
    const pending = new PendingLogprobs();
    const response = await call.generate(request, {
      onDelta: (delta) => {
        const part = toDeltaPart(delta, view);
        if (part !== undefined) send(toChunk(head, index, part, view.withLogprobs ? pending.take() : []));
      },
      ...(view.withLogprobs && { onTokens: (tokens) => pending.add(tokens) }),
    });
    send(toLastResponse(head, index, { response, tokens: view.withLogprobs ? pending.rest(response) : undefined }));
    return response;
  });
}

async function handleCount(call: ProtocolCall): Promise<Response> {
  const count = call.countPromptTokens(read(call).request);
  return call.respondJson(
    count.then((totalTokens) => ({ totalTokens })),
    protocol,
  );
}
