import type {
  ChatMessage,
  ChatRequest,
  ResponseFormat,
  SamplingOptions,
  ToolChoice,
  ToolMessage,
  ToolSpec,
} from '@agentjet/core';
import { namesInside, readTemplateWishes, reviewParameters } from '@agentjet/core/parameters';
import { splitMergedTurns } from '@agentjet/rollout';
import {
  type LanguageModelV3CallOptions,
  type LanguageModelV3Message,
  type LanguageModelV3ToolResultPart,
  type SharedV3Warning,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import { findUnshownParts, toAssistantMessages } from './assistant-turns.js';
import { checkParts, textOfPart } from './text-part.js';

/** Throws UnsupportedFunctionalityError for an option that would change the answer and cannot be honoured. */
export function fromCallOptions(options: LanguageModelV3CallOptions): ChatRequest {
  const ignored = checkOptions(options);
  const tools = (options.tools ?? []).flatMap((tool) => (tool.type === 'function' ? [toToolSpec(tool)] : []));
  const toolChoice = toToolChoice(options.toolChoice);
  const responseFormat = toResponseFormat(options.responseFormat);
  const { requestId, parallelToolCalls, train } = options.providerOptions?.['agentjet'] ?? {};
  return {
    messages: splitMergedTurns(options.prompt.flatMap(toChatMessages)),
    sampling: toSampling(options),
    ...(tools.length > 0 && { tools }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(parallelToolCalls === false && { parallelToolCalls }),
    ...(responseFormat !== undefined && { responseFormat }),
    ...(typeof requestId === 'string' && { requestId }),
    ...(train === false && { isTrained: false }),
    ...readTemplateWishes('aiSdk', options),
    ...(ignored.length > 0 && { ignoredParameters: ignored }),
  };
}

const place = 'providerOptions.agentjet';
const ownOptions = namesInside('aiSdk', place);

/** Returns the names of options without effect. */
function checkOptions(options: LanguageModelV3CallOptions): readonly string[] {
  const { refused } = reviewParameters('aiSdk', options);
  if (refused !== undefined) refuse(refused.name, refused.reason);
  const unknown = Object.keys(options.providerOptions?.['agentjet'] ?? {}).find((name) => !ownOptions.has(name));
  if (unknown !== undefined)
    refuse(`${place}.${unknown}`, `is not known to this model. Use ${[...ownOptions].join(', ')}, or leave it out`);
  return ignoredOf(options);
}

function refuse(functionality: string, reason: string): never {
  throw new UnsupportedFunctionalityError({
    functionality,
    message: `The option "${functionality}" ${reason}.`,
  });
}

function ignoredOf(options: LanguageModelV3CallOptions): readonly string[] {
  const answers = options.prompt.flatMap((message) =>
    message.role === 'assistant' ? findUnshownParts(checkParts(message.content, message.role)) : [],
  );
  const unshown = [...new Set(answers)].map((type) => `prompt: ${type}`);
  return [...reviewParameters('aiSdk', options).ignored, ...unshown];
}

/** Describes options without effect in the SDK's own form. */
export function toWarnings(options: LanguageModelV3CallOptions): SharedV3Warning[] {
  const tools = (options.tools ?? []).flatMap((tool) => (tool.type === 'provider' ? [`provider tool ${tool.id}`] : []));
  const others = ignoredOf(options).filter((name) => !name.startsWith('tools:'));
  return [...tools, ...others].map((feature) => ({ type: 'unsupported', feature }));
}

function toChatMessages(message: LanguageModelV3Message): readonly ChatMessage[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.content }];
    case 'user':
      return [{ role: 'user', content: checkParts(message.content, message.role).map(textOfPart).join('') }];
    case 'assistant':
      return toAssistantMessages(checkParts(message.content, message.role));
    default:
      return checkParts(message.content, message.role).flatMap((part) =>
        part.type === 'tool-result' ? [toToolMessage(part)] : [],
      );
  }
}

function toToolMessage({ toolCallId, toolName, output }: LanguageModelV3ToolResultPart): ToolMessage {
  return { role: 'tool', content: toResultText(output), toolCallId, name: toolName };
}

function toResultText(output: LanguageModelV3ToolResultPart['output']): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'json':
    case 'error-json':
      return JSON.stringify(output.value);
    case 'execution-denied':
      return output.reason ?? 'The call of this tool was denied.';
    default:
      return output.value.map((part) => (part.type === 'text' ? part.text : refuseResult(part.type))).join('');
  }
}

function refuseResult(type: string): never {
  throw new UnsupportedFunctionalityError({
    functionality: `tool result of type ${type}`,
    message: `A tool result of type ${type} cannot be shown to the model: it reads only text.`,
  });
}

type FunctionTool = Extract<NonNullable<LanguageModelV3CallOptions['tools']>[number], { type: 'function' }>;

function toToolSpec({ name, description, inputSchema }: FunctionTool): ToolSpec {
  return { name, ...(description !== undefined && { description }), parameters: { ...inputSchema } };
}

function toToolChoice(choice: LanguageModelV3CallOptions['toolChoice']): ToolChoice | undefined {
  return choice?.type === 'tool' ? { name: choice.toolName } : choice?.type;
}

function toResponseFormat(format: LanguageModelV3CallOptions['responseFormat']): ResponseFormat | undefined {
  if (format === undefined || format.type === 'text') return undefined;
  return format.schema === undefined
    ? { type: 'json_object' }
    : {
        type: 'json_schema',
        name: format.name ?? 'answer',
        ...(format.description !== undefined && { description: format.description }),
        schema: { ...format.schema },
      };
}

function toSampling(options: LanguageModelV3CallOptions): SamplingOptions {
  const { temperature, topP, topK, maxOutputTokens, stopSequences, seed } = options;
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
    ...(maxOutputTokens !== undefined && { maxTokens: maxOutputTokens }),
    ...(stopSequences !== undefined && { stop: stopSequences }),
    ...(seed !== undefined && { seed }),
  };
}
