import { type Api, chatApi, toOpenAIErrorBody } from '@agentjet/chat-completions';
import { messagesApi } from '@agentjet/messages';
import type { Call } from './call.js';
import { handleCompletion } from './completions.js';
import { handleResponses } from './responses/route.js';

const openAIApi: Api<Call> = {
  routes: [
    { protocol: 'completions', path: '/v1/completions', handle: handleCompletion },
    { protocol: 'responses', path: '/v1/responses', handle: handleResponses },
  ],
  toErrorBody: toOpenAIErrorBody,
};

/** All APIs that the endpoint serves. */
export const apis: readonly Api<Call>[] = [chatApi, openAIApi, messagesApi];

/** Returns the API whose errors a path has, even if the API has no such address. Default: OpenAI's. */
export function findApi(pathname: string): Api<Call> {
  return apis.find(({ routes }) => routes.some(({ path }) => isUnder(path, pathname))) ?? openAIApi;
}

/** Whether a path, which may have a prefix, is the path of a route or below it. */
function isUnder(path: string, pathname: string): boolean {
  const [fixed = path] = path.split('/:');
  return `${pathname}/`.includes(`${fixed}/`);
}
