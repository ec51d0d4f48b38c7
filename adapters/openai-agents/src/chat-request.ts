import type { ChatMessage, ChatRequest, ResponseFormat, SamplingOptions, ToolChoice, ToolSpec } from '@agentjet/core';
import { isServerTool, namesInside, readTemplateWishes, reviewParameters } from '@agentjet/core/parameters';
import { splitMergedTurns } from '@agentjet/rollout';
import { type ModelRequest, UserError } from '@openai/agents';
import { findUnshownItems, toMessages } from './history.js';

export function fromModelRequest(request: ModelRequest): ChatRequest {
  const { systemInstructions, input, modelSettings } = request;
  const unshown = Array.isArray(input) ? findUnshownItems(input).map((type) => `input: ${type}`) : [];
  const ignored = [...checkSupported(request), ...unshown];
  const tools = [
    ...request.tools.filter(({ type }) => !isServerTool('agents', type)).map(toToolSpec),
    ...request.handoffs.map(toHandoffSpec),
  ];
  const system: readonly ChatMessage[] =
    systemInstructions === undefined ? [] : [{ role: 'system', content: systemInstructions }];
  const history: readonly ChatMessage[] =
    typeof input === 'string' ? [{ role: 'user', content: input }] : toMessages(input);
  const toolChoice = toToolChoice(modelSettings.toolChoice);
  const responseFormat = toResponseFormat(request.outputType);
  const { requestId, train } = (modelSettings.providerData ?? {}) as Readonly<Record<string, unknown>>;
  return {
    messages: splitMergedTurns([...system, ...history]),
    sampling: toSampling(modelSettings),
    ...(tools.length > 0 && { tools }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(modelSettings.parallelToolCalls === false && { parallelToolCalls: false }),
    ...(responseFormat !== undefined && { responseFormat }),
    ...(typeof requestId === 'string' && { requestId }),
    ...(train === false && { isTrained: false }),
    ...readTemplateWishes('agents', request),
    ...(ignored.length > 0 && { ignoredParameters: ignored }),
  };
}

/**
 * Returns the names of settings that have no effect. Throws, with the name of the setting, for a setting that would
 * change the answer and cannot be honoured.
 */
function checkSupported(request: ModelRequest): readonly string[] {
  const { ignored, refused } = reviewParameters('agents', request);
  if (refused !== undefined) throw new UserError(`${refused.name} ${refused.reason}.`);
  const { modelSettings } = request;
  const unknown =
    Object.keys(modelSettings.providerData ?? {}).find((name) => !providerOptions.has(name)) ??
    Object.entries(modelSettings).find(([name, value]) => !isAbsent(value) && !isKnown(name))?.[0];
  if (unknown === undefined) return ignored;
  const place = Object.hasOwn(modelSettings, unknown) ? '' : 'providerData.';
  throw new UserError(
    `modelSettings.${place}${unknown} is not known to this model. Its answers are trained, so unknown options are refused. Leave it out.`,
  );
}

/** Settings that the SDK's runner honours. */
const ofTheRunner = new Set(['timeoutMs', 'retry', 'preserveRawUsage']);

const knownSettings = namesInside('agents', 'modelSettings');
const providerOptions = namesInside('agents', 'modelSettings.providerData');

function isKnown(name: string): boolean {
  return ofTheRunner.has(name) || knownSettings.has(name);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function toToolSpec(tool: ModelRequest['tools'][number]): ToolSpec {
  if (tool.type !== 'function')
    throw new UserError(`A tool of type "${tool.type}" is not supported by this model. Use function tools.`);
  return { name: tool.name, description: tool.description, parameters: { ...tool.parameters } };
}

function toHandoffSpec({ toolName, toolDescription, inputJsonSchema }: ModelRequest['handoffs'][number]): ToolSpec {
  return { name: toolName, description: toolDescription, parameters: { ...inputJsonSchema } };
}

function toToolChoice(choice: ModelRequest['modelSettings']['toolChoice']): ToolChoice | undefined {
  return choice === undefined || choice === 'auto' || choice === 'none' || choice === 'required'
    ? (choice as ToolChoice | undefined)
    : { name: choice };
}

function toResponseFormat(outputType: ModelRequest['outputType']): ResponseFormat | undefined {
  return outputType === 'text' || outputType.type !== 'json_schema'
    ? undefined
    : { type: 'json_schema', name: outputType.name, schema: { ...outputType.schema } };
}

/** `providerData` of the model settings has the options that the SDK's settings lack. */
function toSampling({
  temperature,
  topP,
  maxTokens,
  providerData = {},
}: ModelRequest['modelSettings']): SamplingOptions {
  const { seed, topK, stop } = providerData as {
    readonly seed?: number;
    readonly topK?: number;
    readonly stop?: string | readonly string[];
  };
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(seed !== undefined && { seed }),
    ...(topK !== undefined && { topK }),
    ...(stop !== undefined && { stop: [stop].flat() }),
  };
}
