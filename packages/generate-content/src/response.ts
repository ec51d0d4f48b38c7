import { randomUUID } from 'node:crypto';
import { countReasoningTokens } from '@agentjet/chat-completions';
import {
  type ChatDelta,
  type ChatFinishReason,
  type ChatResponse,
  toArgumentObject,
  type TokenLogprob,
  type ToolCall,
  addUp,
  mean,
} from '@agentjet/core';

/** What a request wants to see of each answer. */
export type AnswerView = {
  readonly model: string;
  readonly withThoughts: boolean;
  readonly withLogprobs: boolean;
};

const finishReasons: Readonly<Record<ChatFinishReason, string>> = {
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
};

type WirePart =
  | { readonly text: string; readonly thought?: true }
  | { readonly functionCall: { readonly id: string; readonly name: string; readonly args: object } };

const toCallPart = ({ id, name, arguments: text }: ToolCall): WirePart => ({
  functionCall: { id, name, args: toArgumentObject(text) },
});

/** The safety fields are empty, because nothing filters the answers of this model. */
const unfiltered = { safetyRatings: [] };

export type GeminiHead = { readonly responseId: string; readonly modelVersion: string; readonly createTime: string };

export function createHead({ model }: AnswerView): GeminiHead {
  return { responseId: randomUUID(), modelVersion: model, createTime: new Date().toISOString() };
}

/** Converts answers to one response with a candidate for each. */
export function toGenerateContentResponse(head: GeminiHead, responses: readonly ChatResponse[], view: AnswerView) {
  const candidates = responses.map((response, index) => ({
    index,
    content: { role: 'model', parts: toParts(response, view) },
    finishReason: finishReasons[response.finishReason],
    ...unfiltered,
    ...toLogprobs(view.withLogprobs ? response.logprobs : undefined),
  }));
  return { ...head, candidates, usageMetadata: toUsage(responses) };
}

function toParts({ message }: ChatResponse, { withThoughts }: AnswerView): readonly WirePart[] {
  const { content, reasoning = '', toolCalls = [] } = message;
  return [
    ...(withThoughts && reasoning !== '' ? [{ text: reasoning, thought: true as const }] : []),
    ...(content === '' && toolCalls.length > 0 ? [] : [{ text: content }]),
    ...toolCalls.map(toCallPart),
  ];
}

/** Returns the part of a delta. Undefined for a thought that the request does not want to see. */
export function toDeltaPart(delta: ChatDelta, { withThoughts }: AnswerView): WirePart | undefined {
  if (delta.type === 'tool_call') return toCallPart(delta.toolCall);
  if (delta.type === 'content') return { text: delta.text };
  return withThoughts ? { text: delta.text, thought: true } : undefined;
}

/** `tokens` are the tokens since the previous piece, or none if logprobs are not requested. */
export function toChunk(head: GeminiHead, index: number, part: WirePart, tokens: readonly TokenLogprob[]) {
  const content = { role: 'model', parts: [part] };
  return { ...head, candidates: [{ index, content, ...toLogprobs(tokens.length > 0 ? tokens : undefined) }] };
}

/** The last piece of an answer. Its part is empty, because the SDK's chats keep only pieces with a part. */
export function toLastResponse(
  head: GeminiHead,
  index: number,
  { response, tokens }: { readonly response: ChatResponse; readonly tokens: readonly TokenLogprob[] | undefined },
) {
  const content = { role: 'model', parts: [{ text: '' }] };
  const finishReason = finishReasons[response.finishReason];
  const candidate = { index, content, finishReason, ...unfiltered, ...toLogprobs(tokens) };
  return { ...head, candidates: [candidate], usageMetadata: toUsage([response]) };
}

/** Adds up the usage of all answers. Their prompt counts once. */
function toUsage(responses: readonly ChatResponse[]) {
  const promptTokenCount = responses[0]?.usage.promptTokens ?? 0;
  const completionTokens = addUp(responses, ({ usage }) => usage.completionTokens);
  const thoughts = addUp(responses, countReasoningTokens);
  return {
    promptTokenCount,
    candidatesTokenCount: completionTokens - thoughts,
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    totalTokenCount: promptTokenCount + completionTokens,
  };
}

function toLogprobs(tokens: readonly TokenLogprob[] | undefined) {
  if (tokens === undefined || tokens.length === 0) return {};
  const chosenCandidates = tokens.map(({ id, text, logprob }) => ({
    token: text,
    tokenId: id,
    logProbability: logprob,
  }));
  return {
    avgLogprobs: mean(tokens.map(({ logprob }) => logprob)),
    logprobsResult: { chosenCandidates },
  };
}
