import { type Api, chatApi, toOpenAIErrorBody } from '@agentjet/chat-completions';
import { generateContentApi } from '@agentjet/generate-content';
import { messagesApi } from '@agentjet/messages';
import type { Call } from './call.js';
import { handleCompletion } from './completions.js';
import { handleResponses } from './responses/route.js';

const openAIApi: Api<Call> = {
  routes: [
    { protocol: 'completions', path: '/v1/completions', handle: handleCompletion },
    { protocol: 'responses', path: '/v1/responses', handle: handleResponses },
  ],
  paths: /^/,
  toErrorBody: toOpenAIErrorBody,
};

/** All APIs that the endpoint serves. */
export const apis: readonly Api<Call>[] = [chatApi, messagesApi, generateContentApi, openAIApi];

/** Returns the API whose errors a path has, even if the API has no such address. */
export function findApi(pathname: string): Api<Call> {
  return apis.find(({ paths }) => paths.test(pathname)) ?? openAIApi;
}
