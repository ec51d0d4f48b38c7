import { isJsonObject } from '@agentjet/core';

/** One answer of a deployed agent, with its question and the feedback of a person. */
export type Trace = {
  /** Identifies the answer; feedback refers to it. */
  readonly id: string;
  readonly conversation: string;
  /** The messages up to the question, which is the last one. */
  readonly messages: readonly TraceMessage[];
  readonly answer: string;
  readonly feedback: Feedback;
};

export type TraceMessage = { readonly role: 'system' | 'user' | 'assistant'; readonly content: string };

/** The feedback of a person on an answer. Without feedback, nothing is known about the answer. */
export type Feedback = {
  readonly thumb?: 'up' | 'down';
  /** A number on the scale of the person who gave it. */
  readonly score?: number;
  /** The answer that the agent should have given. */
  readonly correction?: string;
};

const roles = ['system', 'user', 'assistant'] as const;

const roleNames: ReadonlyMap<string, TraceMessage['role']> = new Map([
  ['human', 'user'],
  ['ai', 'assistant'],
  ['developer', 'system'],
]);

/**
 * Reads a message of a person or an agent. Returns undefined for tools and their results, and for content without text.
 */
export function readMessage(value: unknown): TraceMessage | undefined {
  if (!isJsonObject(value)) return undefined;
  const name = value['role'] ?? value['from'];
  const role = typeof name === 'string' ? (roles.find((each) => each === name) ?? roleNames.get(name)) : undefined;
  const content = readContent(value['content'] ?? value['value'] ?? value['parts']);
  return role === undefined || content === '' ? undefined : { role, content };
}

/** Returns text, or the joined texts of a list of parts. */
function readContent(value: unknown): string {
  if (typeof value === 'string') return value.trim();
  if (!Array.isArray(value)) return '';
  const texts = value.map((part: unknown) => {
    if (!isJsonObject(part)) return '';
    return readContent(part['text'] ?? part['content']);
  });
  return texts.filter((text) => text !== '').join('\n');
}

/** Reads the words and numbers with which tools express feedback. The result is empty for a value without feedback. */
export function readFeedback(value: unknown): Feedback {
  if (!isJsonObject(value)) return readThumb(value);
  const thumb = readThumb(value['thumb'] ?? value['label'] ?? value['rating']).thumb;
  const { correction } = value;
  const score = value['score'] ?? value['rating'];
  const isScore = typeof score === 'number' && Number.isFinite(score);
  return {
    ...(thumb !== undefined && { thumb }),
    ...(isScore && { score }),
    ...(typeof correction === 'string' && correction.trim() !== '' && { correction: correction.trim() }),
  };
}

function readThumb(value: unknown): Feedback {
  if (value === true || /^(up|good|positive|like|thumbs?[_ -]?up|👍)$/i.test(String(value))) return { thumb: 'up' };
  if (value === false || /^(down|bad|negative|dislike|thumbs?[_ -]?down|👎)$/i.test(String(value)))
    return { thumb: 'down' };
  return {};
}

/** Returns the messages up to the last question, if there is one. */
export function upToQuestion(messages: readonly TraceMessage[]): readonly TraceMessage[] | undefined {
  const at = messages.findLastIndex(({ role }) => role === 'user');
  return at === -1 ? undefined : messages.slice(0, at + 1);
}
