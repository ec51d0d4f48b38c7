import { toErrorMessage, type ChatRequest, type ChatResponse } from '@agentjet/core';
import type { Episode, WrapModel } from '@agentjet/rollout';

/** One model call as the agent's framework made it. */
export type RecordedCall = {
  readonly agentName: string;
  readonly request: ChatRequest;
  readonly seconds: number;
} & ({ readonly response: ChatResponse } | { readonly error: string });

/** An episode in messages, for reading. */
export type Transcript = { readonly episode: Episode; readonly calls: readonly RecordedCall[] };

/** Keeps the calls of every episode until they are taken. */
export class TranscriptRecorder {
  /** Filled in when the call ends. */
  readonly #calls = new Map<string, { call: RecordedCall }[]>();

  readonly wrapModel: WrapModel =
    ({ episodeId }) =>
    (model, { agentName }) => ({
      ...model,
      generate: async (request, options) => {
        const startedAt = performance.now();
        const record = this.#add(episodeId, {
          agentName,
          request,
          seconds: 0,
          error: 'no answer before the episode ended',
        });
        const note = (outcome: { response: ChatResponse } | { error: string }): void => {
          record.call = { agentName, request, seconds: (performance.now() - startedAt) / 1000, ...outcome };
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

  take(episode: Episode): Transcript {
    const records = this.#calls.get(episode.episodeId) ?? [];
    this.#calls.delete(episode.episodeId);
    return { episode, calls: records.map(({ call }) => call) };
  }

  #add(episodeId: string, call: RecordedCall): { call: RecordedCall } {
    const record = { call };
    this.#calls.set(episodeId, [...(this.#calls.get(episodeId) ?? []), record]);
    return record;
  }
}
