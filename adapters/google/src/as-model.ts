import { createInProcessFetch } from '@agentjet/chat-completions/in-process';
import type { ChatModel } from '@agentjet/core';
import { generateContentApi } from '@agentjet/generate-content';
import type { ModelOptions, Tuner } from '@agentjet/rollout';
import { GoogleGenAI } from '@google/genai';

/**
 * Returns the client of one agent. If its target learns, the client's `models` and `chats` are the tuned model, for any
 * `model` name. Otherwise the client is `debugModel` itself. The SDK does not retry unless the caller asks for it,
 * because a repeated call would be a second sample.
 */
export function asGoogleClient(tuner: Tuner, options: ModelOptions<GoogleGenAI>): GoogleGenAI {
  const toClient = (model: ChatModel): GoogleGenAI => {
    const fetch = createInProcessFetch(model, {
      api: generateContentApi,
      advice: 'Use models.generateContent, models.generateContentStream, models.countTokens or chats.',
    });
    // Environment variables of the SDK could choose Vertex AI instead.
    return new GoogleGenAI({
      apiKey: 'in-process',
      vertexai: false,
      httpOptions: { baseUrl: 'http://agentjet.local', fetch },
    });
  };
  return tuner.selectModel(options, toClient, [
    'models.generateContent',
    'models.generateContentStream',
    'models.countTokens',
  ]);
}
