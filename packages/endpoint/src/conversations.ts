import { ApiError } from '@agentjet/chat-completions';
import type { ChatModel, ChatRequest, ChatResponse } from '@agentjet/core';
import type { Context } from 'hono';

/** Gets the answers of a served model by conversation, and what people say of them later. */
export interface ConversationDoor {
  /** Called before the model. Returns a function that gets the answer before it is complete for the client. It must not reject. */
  onCall(call: ServedCall): (response: ChatResponse) => Promise<void>;
  /** Gets the body of `POST /v1/feedback`, and resolves to the answer of the server. Throws RefusedFeedback. */
  onFeedback(body: unknown): Promise<object>;
}

export type ServedCall = {
  /** The conversation that the request names. Undefined: it names none. */
  readonly conversation: string | undefined;
  readonly request: ChatRequest;
};

/** Feedback that is not kept: status 400 for a wrong body, 404 for an unknown conversation. */
export class RefusedFeedback extends Error {
  readonly status: number;

  constructor(status: 400 | 404, message: string) {
    super(message);
    this.status = status;
  }
}

const header = 'x-ajet-conversation';

/** Reads the conversation that a request names. Throws ApiError if the name cannot be used. */
export function readConversation({ req }: Context): string | undefined {
  const name = req.header(header)?.trim();
  if (name === undefined || /^[\x21-\x7e]{1,200}$/.test(name)) return name;
  throw new ApiError(
    400,
    'invalid_value',
    `${header} is ${JSON.stringify(name.slice(0, 80))}. Send 1 to 200 characters of ASCII without spaces.`,
    header,
  );
}

/** Returns the model as one conversation reaches it. */
export function followModel(model: ChatModel, conversation: string | undefined, door: ConversationDoor): ChatModel {
  return {
    ...model,
    generate: async (request, options) => {
      const keep = door.onCall({ conversation, request });
      const response = await model.generate(request, options);
      await keep(response);
      return response;
    },
  };
}

/** Passes feedback on. Throws ApiError if it is refused. */
export async function takeFeedback(body: unknown, door: ConversationDoor): Promise<Response> {
  try {
    return Response.json(await door.onFeedback(body));
  } catch (error) {
    if (!(error instanceof RefusedFeedback)) throw error;
    throw new ApiError(error.status, error.status === 404 ? 'unknown_conversation' : 'invalid_feedback', error.message);
  }
}
