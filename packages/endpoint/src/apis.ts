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

/** Returns the form in which a path describes the model: that of the API whose header the client sends, or the first. */
export function findModelForm(path: string, hasHeader: (name: string) => boolean): Api['models'] {
  const forms = apis.flatMap(({ models }) => (models?.paths.includes(path) === true ? [models] : []));
  return forms.find(({ header }) => header !== undefined && hasHeader(header)) ?? forms[0];
}
