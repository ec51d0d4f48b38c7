import type { ChatMessage, ChatRequest, ResponseFormat, SamplingOptions, ToolChoice, ToolSpec } from '@agentjet/core';
import { takeTurnsApart } from '@agentjet/rollout';
import { type ModelRequest, UserError } from '@openai/agents';
import { toMessages } from './history.js';

export function toChatRequest(request: ModelRequest): ChatRequest {
  checkSupported(request);
  const { systemInstructions, input, modelSettings } = request;
  const tools = [...request.tools.map(toToolSpec), ...request.handoffs.map(toHandoffSpec)];
  const system: readonly ChatMessage[] =
    systemInstructions === undefined ? [] : [{ role: 'system', content: systemInstructions }];
  const history: readonly ChatMessage[] =
    typeof input === 'string' ? [{ role: 'user', content: input }] : toMessages(input);
  const toolChoice = toToolChoice(modelSettings.toolChoice);
  const responseFormat = toResponseFormat(request.outputType);
  const requestId: unknown = modelSettings.providerData?.['requestId'];
  return {
    messages: takeTurnsApart([...system, ...history]),
    sampling: toSampling(modelSettings),
    ...(tools.length > 0 && { tools }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(modelSettings.parallelToolCalls === false && { parallelToolCalls: false }),
    ...(responseFormat !== undefined && { responseFormat }),
    ...(typeof requestId === 'string' && { requestId }),
  };
}

/** What would change the answer and cannot be honoured is refused by name. */
function checkSupported({ modelSettings, previousResponseId, conversationId, prompt }: ModelRequest): void {
  const asked = {
    'modelSettings.frequencyPenalty': modelSettings.frequencyPenalty ?? 0,
    'modelSettings.presencePenalty': modelSettings.presencePenalty ?? 0,
    previousResponseId,
    conversationId,
    prompt,
  };
  for (const [name, value] of Object.entries(asked)) {
    if (value !== undefined && value !== 0)
      throw new UserError(`${name} is not supported by this model. Leave it out.`);
  }
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

/** The SDK has no word for some; `providerData` of the model settings carries them. */
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
