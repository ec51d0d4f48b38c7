import {
  EngineError,
  isCountingChatModel,
  limitsOf,
  type ChatModel,
  type ChatRequest,
  type ChatResponse,
} from '@agentjet/core';
import type { CallLedger } from './call-ledger.js';
import { rejectPaced } from './reject-paced.js';
import { checkOpen, linkSignals } from './signals.js';

/** Wraps a model behind an API for an episode. Its calls are counted, and they are aborted when the episode ends. */
export function createGuardedModel(
  model: ChatModel,
  {
    agentName,
    ledger,
    signal,
  }: { readonly agentName: string; readonly ledger: CallLedger; readonly signal: AbortSignal },
): ChatModel {
  const limits = limitsOf(model);
  return {
    name: model.name,
    ...(limits !== undefined && { limits }),
    ...(isCountingChatModel(model) && {
      countPromptTokens: async (request: ChatRequest) => {
        checkOpen(signal);
        return model.countPromptTokens(request);
      },
    }),
    generate: (request, options = {}) => {
      ledger.countIgnored(agentName, request.ignoredParameters ?? []);
      const answer = guard(request, { agentName, ledger, signal }, async () => {
        const { controller, release } = linkSignals([signal, options.signal]);
        return model.generate(request, { ...options, signal: controller.signal }).finally(release);
      }).catch((error: unknown) => rejectPaced(signal, error));
      answer.catch(() => {});
      return answer;
    },
  };
}

async function guard(
  request: ChatRequest,
  {
    agentName,
    ledger,
    signal,
  }: { readonly agentName: string; readonly ledger: CallLedger; readonly signal: AbortSignal },
  generate: () => Promise<ChatResponse>,
): Promise<ChatResponse> {
  if (signal.aborted) ledger.count('aborted');
  checkOpen(signal);
  try {
    const response = await generate();
    ledger.countAnswer(request, response);
    return response;
  } catch (error) {
    if (error instanceof EngineError && error.code === 'aborted') ledger.count('aborted');
    else ledger.countFailure(agentName, error);
    throw error;
  }
}
