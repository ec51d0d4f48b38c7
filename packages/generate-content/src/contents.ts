import { toText } from '@agentjet/chat-completions';
import {
  type AssistantMessage,
  type ChatMessage,
  type JsonObject,
  toArgumentText,
  type ToolCall,
} from '@agentjet/core';
import type { Content, GeminiPart } from './schema.js';

/** A call in the conversation that has no result yet. */
type OpenCall = Pick<ToolCall, 'id' | 'name'>;

/**
 * Converts a conversation. Contents of the model that follow each other are one message, because the SDK's chats keep
 * each piece of a stream as a content. Results without an id belong to the first open call of their name.
 */
export function toMessagesOfContents(contents: readonly Content[]): readonly ChatMessage[] {
  let open: OpenCall[] = [];
  return joinAnswers(contents).flatMap(({ role, parts = [] }, at): readonly ChatMessage[] => {
    if (role === 'model') {
      const answer = toAnswer(parts, at);
      open = [...(answer.toolCalls ?? [])];
      return [answer];
    }
    const takeId = ({ id, name }: { readonly id?: string | undefined; readonly name: string }): string => {
      const found = open.find((call) => (id === undefined ? call.name === name : call.id === id));
      open = open.filter((call) => call !== found);
      return id ?? found?.id ?? name;
    };
    return toQuestion(role === 'system' ? 'system' : 'user', parts, takeId);
  });
}

function joinAnswers(contents: readonly Content[]): readonly Content[] {
  const joined: Content[] = [];
  for (const content of contents) {
    const last = joined.at(-1);
    if (last?.role === 'model' && content.role === 'model')
      joined[joined.length - 1] = { ...last, parts: [...(last.parts ?? []), ...(content.parts ?? [])] };
    else joined.push(content);
  }
  return joined;
}

/** Parts that the model cannot read are left out. `findUnshownContents` counts them. */
function toAnswer(parts: readonly GeminiPart[], at: number): AssistantMessage {
  const textOf = (isThought: boolean): string =>
    parts.map(({ text = '', thought = false }) => (thought === isThought ? text : '')).join('');
  const reasoning = textOf(true);
  const toolCalls = parts.flatMap(({ functionCall: call }, place): readonly ToolCall[] =>
    call === undefined
      ? []
      : [{ id: call.id ?? `call_${at}_${place}`, name: call.name, arguments: toArgumentText(call.args) }],
  );
  return {
    role: 'assistant',
    content: textOf(false),
    ...(reasoning !== '' && { reasoning }),
    ...(toolCalls.length > 0 && { toolCalls }),
  };
}

/** Converts a content of the user: the results of tools, and then its text. */
function toQuestion(
  role: 'user' | 'system',
  parts: readonly GeminiPart[],
  takeId: (result: { readonly id?: string | undefined; readonly name: string }) => string,
): readonly ChatMessage[] {
  const results = parts.flatMap(({ functionResponse: result }): readonly ChatMessage[] =>
    result === undefined
      ? []
      : [{ role: 'tool', toolCallId: takeId(result), name: result.name, content: toResultText(result.response ?? {}) }],
  );
  const rest = parts.filter(({ functionResponse }) => functionResponse === undefined);
  return rest.length === 0 && results.length > 0 ? results : [...results, { role, content: joinText(rest) }];
}

/** Returns the text of parts. Throws ApiError 400 for parts without text: images, audio, files. */
export function joinText(parts: readonly GeminiPart[], separator = ''): string {
  return parts.map((shown) => toText([{ type: kindOf(shown), text: shown.text }], 'contents')).join(separator);
}

/** Returns the name of the field that holds the content of a part, such as `inlineData`. */
function kindOf(part: GeminiPart): string {
  return Object.keys(part).find((key) => key !== 'thought' && key !== 'thoughtSignature') ?? 'nothing';
}

/** A result is an object. Its text is the usual field of the SDKs, or the object in JSON. */
function toResultText(response: JsonObject): string {
  const [only, ...others] = Object.entries(response);
  const isUsual = only !== undefined && others.length === 0 && ['output', 'result', 'error'].includes(only[0]);
  return isUsual && typeof only[1] === 'string' ? only[1] : JSON.stringify(response);
}

/** Lists the parts of answers that the model does not see, as `contents: <kind>`, each once. */
export function findUnshownContents(contents: readonly Content[]): readonly string[] {
  const parts = contents.flatMap(({ role, parts = [] }) => (role === 'model' ? parts : []));
  const unshown = parts.filter(({ text, functionCall }) => text === undefined && functionCall === undefined);
  const kinds = unshown.map(kindOf).filter((kind) => kind !== 'nothing');
  return [...new Set(kinds)].map((kind) => `contents: ${kind}`);
}
