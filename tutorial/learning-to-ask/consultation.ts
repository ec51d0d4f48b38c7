import type { ChatModel } from '@agentjet/core';
import { ReActAgent } from '@agentjet/react';

/** The doctor may ask this many questions. */
export const numQuestions = 3;

export type Models = { readonly doctor: ChatModel; readonly patient: ChatModel };

/**
 * A doctor asks and a patient answers. The agent has no code for training. Resolves to the doctor's messages, turn by
 * turn.
 */
export async function consult(opening: string, models: Models, signal?: AbortSignal): Promise<readonly string[]> {
  const doctor = new ReActAgent({
    name: 'doctor',
    systemPrompt: 'You are a doctor. Ask one question at a time.',
    model: models.doctor,
  });
  const patient = new ReActAgent({ name: 'patient', systemPrompt: 'You are a patient.', model: models.patient });
  const options = signal === undefined ? {} : { signal };
  const questions: string[] = [];
  let words = opening;
  for (let turn = 0; turn < numQuestions; turn++) {
    const { content } = await doctor.reply({ name: 'patient', role: 'user', content: words }, options);
    questions.push(content);
    if (turn + 1 === numQuestions) break;
    ({ content: words } = await patient.reply({ name: 'doctor', role: 'user', content }, options));
  }
  return questions;
}
