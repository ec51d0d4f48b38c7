import { BackboneError, ConfigError, type CommonConfig, type Teacher } from '@agentjet/core';
import { createTinkerTeacher, createVllmTeacher, type VllmTeacher } from '@agentjet/trainer';
import type { ChatTokenizer } from '@agentjet/tokenizer';

type Student = {
  readonly tokenizer: ChatTokenizer['tokenizer'];
  readonly onNotice: (message: string) => void;
  readonly signal?: AbortSignal | undefined;
};

/** The number of tokens that are compared with the server's. */
const numProbed = 64;

/**
 * Opens the teacher at `teacher.base_url`. Rejects with ConfigError `conflict`, with BackboneError `other_vocabulary`,
 * or with the errors of the server.
 */
export async function openServedTeacher(
  { teacher, rollout }: CommonConfig,
  { model, baseUrl }: { readonly model: string; readonly baseUrl: string },
  { tokenizer, onNotice, signal }: Student,
): Promise<Teacher> {
  if (rollout.temperature !== 0 && rollout.temperature !== 1)
    throw new ConfigError(
      'conflict',
      `"rollout.temperature" is ${rollout.temperature}, and a server gives the logprobs of a prompt at temperature 1. Set rollout.temperature to 1, or open the teacher on this machine (teacher.base_url null).`,
    );
  const apiKey = teacher.apiKey ?? process.env['TEACHER_API_KEY'] ?? null;
  if (teacher.server === 'tinker') {
    onNotice(`A Tinker server does not say what its tokens are. ${model} must have the vocabulary of model.path.`);
    return await createTinkerTeacher({ baseUrl, apiKey, model });
  }
  const maxOutageMs = rollout.maxOutage === null ? null : rollout.maxOutage * 1000;
  const served = createVllmTeacher({ baseUrl, apiKey, model, signal, maxOutageMs, onNotice });
  try {
    const isCompared = await requireSameTokens(served, model, tokenizer);
    if (!isCompared)
      onNotice(`The server does not say what its tokens are. ${model} must have the vocabulary of model.path.`);
    return served;
  } catch (error) {
    await served.close();
    throw error;
  }
}

/**
 * Lets the server decode tokens from all parts of the student's vocabulary, and compares the decoded strings. Returns
 * whether the server sent any.
 */
async function requireSameTokens(
  served: VllmTeacher,
  model: string,
  tokenizer: ChatTokenizer['tokenizer'],
): Promise<boolean> {
  const ids = Int32Array.from({ length: numProbed }, (_, k) =>
    Math.floor((k * (tokenizer.vocabSize - 1)) / (numProbed - 1)),
  );
  const tokens = await served.scorePrompt(ids);
  tokens.forEach(({ text }, t) => {
    const own = tokenizer.decode(ids.subarray(t, t + 1));
    if (text === null || !isComparable(text) || !isComparable(own) || text.trim() === own.trim()) return;
    throw new BackboneError(
      'other_vocabulary',
      `The teacher ${model} has another vocabulary than model.path: token ${ids[t]} is ${JSON.stringify(own)} for the student, and ${JSON.stringify(text)} for the teacher. A teacher scores the token ids of the student, so serve a model of the same family.`,
    );
  });
  return tokens.some(({ text }) => text !== null);
}

/** Special tokens and parts of a character cannot be compared, because they decode to no valid string. */
const isComparable = (text: string): boolean => text.trim() !== '' && !text.includes('\uFFFD');
