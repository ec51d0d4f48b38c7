import { BackboneError, type JsonObject, type Teacher } from '@agentjet/core';
import type { AttemptClock } from '../backbones/tinker/attempt-clock.js';
import { toModelInput } from '../backbones/tinker/row-data.js';
import { TinkerClient } from '../backbones/tinker/tinker-client.js';
import { TinkerSession } from '../backbones/tinker/tinker-session.js';
import { createRowTeacher } from './row-teacher.js';

export type TinkerTeacherOptions = {
  readonly baseUrl: string;
  readonly apiKey: string | null;
  /** The server's name of a base model, or the path of weights (`tinker://...`). */
  readonly model: string;
  /** Tests pass a clock that does not wait. */
  readonly clock?: AttemptClock;
};

/** Makes a teacher of a server with the Tinker API, which gives the logprobs of a prompt when it samples. */
export async function createTinkerTeacher({ baseUrl, apiKey, model, clock }: TinkerTeacherOptions): Promise<Teacher> {
  const client = new TinkerClient({ baseUrl, apiKey, ...(clock && { clock }) });
  const session = await TinkerSession.open(client);
  const close = async (): Promise<void> => {
    session.close();
    client.close();
  };
  try {
    const sampler = await session.openSampler(model);
    let sequence = 0;
    const scoreRow = async (ids: Int32Array): Promise<readonly number[]> =>
      readPromptLogprobs(await client.call('asample', toRequest(ids, { sampler, sequence: ++sequence })), model);
    return createRowTeacher({ name: model, scoreRow, close });
  } catch (error) {
    await close();
    throw error;
  }
}

function toRequest(
  ids: Int32Array,
  { sampler, sequence }: { readonly sampler: string; readonly sequence: number },
): JsonObject {
  return {
    sampling_session_id: sampler,
    seq_id: sequence,
    prompt: toModelInput(ids),
    num_samples: 1,
    prompt_logprobs: true,
    sampling_params: { max_tokens: 1, temperature: 1, top_p: 1, top_k: -1, seed: 0 },
  };
}

function readPromptLogprobs({ prompt_logprobs: found }: JsonObject, model: string): readonly number[] {
  if (!Array.isArray(found))
    throw new BackboneError(
      'bad_teacher_answer',
      `The server gave no prompt_logprobs for the teacher ${model}. teacher.server tinker needs a server that gives them when it samples.`,
    );
  return found.map((value: unknown) => (typeof value === 'number' ? value : Number.NaN));
}
