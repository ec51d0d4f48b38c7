import {
  EngineError,
  replayDeltas,
  type AssistantMessage,
  type ChatModel,
  type ChatRequest,
  type ChatResponse,
  type Random,
  type ToolCall,
} from '@agentjet/core';
import type { ScriptedCall, Line, Script } from './contract.js';
import { fillSchema, submittingTool } from './fill-schema.js';

/** After this many calls, the model calls no more tools, so that an agent without a limit can end. */
const patientCalls = 64;
/** An agent that makes more calls in one episode is stopped with an error, because it would never end. */
const mostCalls = 256;

export type ScriptedModelOptions = {
  readonly script: Script;
  readonly random: Random;
  /** Called with each request and what the model wrote. */
  readonly onLine?: (request: ChatRequest, line: Line) => void;
};

/** A model that writes what its script says, in the form that each request asks for. */
export function createScriptedModel({ script, random, onLine }: ScriptedModelOptions): ChatModel {
  let turn = 0;
  return {
    name: 'audit',
    generate: async (request, options = {}) => {
      if (turn >= mostCalls)
        throw new EngineError(
          'bad_request',
          `The agent asked the scripted model ${mostCalls} times in one episode, so it would never end. Limit its calls, for example with rollout.multi_turn.max_steps.`,
        );
      const line = script(request, turn);
      onLine?.(request, line);
      const response = respond(request, turn >= patientCalls ? { ...line, calls: [] } : line, { turn, random });
      turn++;
      replayDeltas(response, options);
      return response;
    },
  };
}

type RespondOptions = { readonly turn: number; readonly random: Random };

function respond(request: ChatRequest, line: Line, { turn, random }: RespondOptions): ChatResponse {
  const calls = chooseCalls(request, line).map((call, index) =>
    toToolCall(request, call, { text: line.text, random, id: `audit-${turn}-${index}` }),
  );
  const message: AssistantMessage = {
    role: 'assistant',
    content: calls.length > 0 ? '' : inForm(request, line.text, random),
    ...(line.thoughts !== undefined && { reasoning: line.thoughts }),
    ...(calls.length > 0 && { toolCalls: calls }),
  };
  const written = message.content.length + (message.reasoning?.length ?? 0);
  return {
    id: `audit-${turn}`,
    model: 'audit',
    message,
    finishReason: calls.length > 0 ? 'tool_calls' : 'stop',
    usage: {
      promptTokens: toTokens(request.messages.reduce((sum, { content }) => sum + content.length, 0)),
      completionTokens: toTokens(written),
    },
  };
}

/** Only an estimate, because no tokenizer is loaded. */
const toTokens = (numCharacters: number): number => Math.ceil(numCharacters / 4);

/** A request that demands a tool call gets one, even if the script only writes text. */
function chooseCalls({ tools = [], toolChoice = 'auto' }: ChatRequest, { calls = [] }: Line): readonly ScriptedCall[] {
  if (tools.length === 0 || toolChoice === 'none') return [];
  if (calls.length > 0 || toolChoice === 'auto') return calls;
  const name = typeof toolChoice === 'object' ? toolChoice.name : submittingTool(tools)?.name;
  return name === undefined ? [] : [{ name }];
}

function toToolCall(
  { tools = [] }: ChatRequest,
  call: ScriptedCall,
  { text, random, id }: { readonly text: string; readonly random: Random; readonly id: string },
): ToolCall {
  const parameters = tools.find(({ name }) => name === call.name)?.parameters ?? {};
  const filled = call.arguments ?? JSON.stringify(fillSchema({ type: 'object', ...parameters }, { text, random }));
  return { id, name: call.name, arguments: filled };
}

/** Text that already has the form is not changed. */
function inForm({ responseFormat }: ChatRequest, text: string, random: Random): string {
  if (responseFormat === undefined || responseFormat.type === 'text' || isJson(text)) return text;
  if (responseFormat.type === 'json_object') return JSON.stringify({ answer: text });
  return JSON.stringify(fillSchema(responseFormat.schema, { text, random }));
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}
