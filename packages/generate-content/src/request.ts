import { ApiError, toSampling, toToolSpec } from '@agentjet/chat-completions';
import type { ChatRequest, ResponseFormat } from '@agentjet/core';
import { findUnshownContents, joinText, toMessagesOfContents } from './contents.js';
import { toJsonSchema } from './json-schema.js';
import type { FunctionDeclaration, GenerateContentBody } from './schema.js';

/** Converts the body of a request. Throws ApiError 400 for content that is not text. */
export function fromGenerateContentBody(body: GenerateContentBody): ChatRequest {
  const { generationConfig: config = {}, systemInstruction } = body;
  const { temperature, topP, topK, maxOutputTokens, seed, stopSequences } = config;
  const system = joinText(systemInstruction?.parts ?? [], '\n');
  const unshown = findUnshownContents(body.contents);
  return {
    messages: [
      ...(system === '' ? [] : [{ role: 'system', content: system } as const]),
      ...toMessagesOfContents(body.contents),
    ],
    sampling: toSampling({
      temperature,
      top_p: topP,
      top_k: topK,
      max_tokens: maxOutputTokens,
      seed,
      stop: stopSequences,
    }),
    ...chooseTools(body),
    ...toResponseFormat(config),
    ...(unshown.length > 0 && { ignoredParameters: unshown }),
  };
}

/** Returns the tools that the model sees: all functions, or those that the request allows. */
function chooseTools({ tools = [], toolConfig }: GenerateContentBody): Pick<ChatRequest, 'tools' | 'toolChoice'> {
  const { mode, allowedFunctionNames: allowed = [] } = toolConfig?.functionCallingConfig ?? {};
  const all = tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations).map(toSpec);
  const unknown = allowed.find((name) => all.every((spec) => spec.name !== name));
  if (unknown !== undefined)
    throw new ApiError(
      400,
      'invalid_value',
      `Invalid value: 'toolConfig.functionCallingConfig.allowedFunctionNames' has ${JSON.stringify(unknown)}, which is not a function of this request.`,
      'toolConfig.functionCallingConfig.allowedFunctionNames',
    );
  const shown = allowed.length === 0 ? all : all.filter(({ name }) => allowed.includes(name));
  const chosen = shown.length > 0 ? { tools: shown } : {};
  if (mode === 'NONE') return { ...chosen, toolChoice: 'none' };
  if (mode !== 'ANY') return chosen;
  const [only] = allowed;
  return { ...chosen, toolChoice: only !== undefined && allowed.length === 1 ? { name: only } : 'required' };
}

function toSpec({ name, description, parameters, parametersJsonSchema }: FunctionDeclaration) {
  const schema = parametersJsonSchema ?? (parameters === undefined ? undefined : toJsonSchema(parameters));
  return toToolSpec({ name, description, parameters: schema });
}

type Config = NonNullable<GenerateContentBody['generationConfig']>;

function toResponseFormat(config: Config): Pick<ChatRequest, 'responseFormat'> {
  const { responseMimeType, responseSchema, responseJsonSchema } = config;
  if (responseMimeType === 'text/plain') return {};
  const schema = responseJsonSchema ?? (responseSchema === undefined ? undefined : toJsonSchema(responseSchema));
  if (schema !== undefined) return { responseFormat: { type: 'json_schema', name: 'answer', schema } };
  const json: ResponseFormat = { type: 'json_object' };
  return responseMimeType === undefined ? {} : { responseFormat: json };
}
