import type { EpisodeTranscript, TranscriptCall } from '@agentjet/records';
import { toErrorMessage, type AssistantMessage, type ChatMessage, type ChatResponse } from '@agentjet/core';
import type { Episode, UntrainedCall, WrapModel } from '@agentjet/rollout';

/** Keeps the calls of every episode until a caller takes them. */
export class TranscriptRecorder {
  /** Filled in when the call ends. */
  readonly #calls = new Map<string, { call: TranscriptCall }[]>();

  readonly wrapModel: WrapModel = ({ episodeId }) => {
    const openedAt = performance.now();
    return (model, agent) => ({
      ...model,
      generate: async (request, options) => {
        const startedAt = performance.now();
        const record = this.#add(episodeId, {
          ...agent,
          request,
          seconds: 0,
          beganMs: startedAt - openedAt,
          error: 'no answer before the episode ended',
        });
        const note = (outcome: { response: ChatResponse } | { error: string }): void => {
          const beganMs = startedAt - openedAt;
          record.call = { ...agent, request, seconds: (performance.now() - startedAt) / 1000, beganMs, ...outcome };
        };
        try {
          const response = await model.generate(request, options);
          note({ response });
          return response;
        } catch (error) {
          note({ error: toErrorMessage(error) });
          throw error;
        }
      },
    });
  };

  take(episode: Episode): EpisodeTranscript {
    const records = this.#calls.get(episode.episodeId) ?? [];
    this.#calls.delete(episode.episodeId);
    const untrained = new UntrainedHistories();
    const calls = [
      ...records.map(({ call }) => call),
      ...(episode.untrainedCalls ?? []).map((call) => untrained.toCall(call)),
    ];
    return { episode, calls: calls.toSorted((left, right) => left.beganMs - right.beganMs) };
  }

  #add(episodeId: string, call: TranscriptCall): { call: TranscriptCall } {
    const record = { call };
    this.#calls.set(episodeId, [...(this.#calls.get(episodeId) ?? []), record]);
    return record;
  }
}

/** Restores the whole requests of agents that do not learn, because the stored calls hold only their new messages. */
class UntrainedHistories {
  readonly #latest = new Map<string, readonly ChatMessage[]>();

  toCall({
    agentName,
    model,
    repeatedMessages,
    messages,
    answer,
    error,
    beganMs,
    endedMs,
  }: UntrainedCall): TranscriptCall {
    const sent = [...(this.#latest.get(agentName) ?? []).slice(0, repeatedMessages), ...messages];
    this.#latest.set(agentName, answer === null ? sent : [...sent, answer]);
    const common = {
      agentName,
      request: { messages: sent },
      seconds: (endedMs - beganMs) / 1000,
      beganMs,
      untrainedModel: model,
    };
    if (error !== undefined) return { ...common, error };
    const message: AssistantMessage = { role: 'assistant', content: answer?.content ?? '(streamed)' };
    return {
      ...common,
      response: { id: '', model, message, finishReason: 'stop', usage: { promptTokens: 0, completionTokens: 0 } },
    };
  }
}
