import { isJsonObject } from '@agentjet/core';

/** One answer of a deployed agent: what it was asked, what it said, and what a person thought of it. */
export type Trace = {
  /** Of the answer: what feedback names. */
  readonly id: string;
  readonly conversation: string;
  /** Up to the question, which is the last one. */
  readonly messages: readonly TraceMessage[];
  readonly answer: string;
  readonly feedback: Feedback;
};

export type TraceMessage = { readonly role: 'system' | 'user' | 'assistant'; readonly content: string };

/** What a person said of an answer. Silence says nothing: neither that it was good nor that it was bad. */
export type Feedback = {
  readonly thumb?: 'up' | 'down';
  /** On the scale of the one who gave it. */
  readonly score?: number;
  /** What the answer should have been. */
  readonly correction?: string;
};

const roles = ['system', 'user', 'assistant'] as const;

const roleNames: ReadonlyMap<string, TraceMessage['role']> = new Map([
  ['human', 'user'],
  ['ai', 'assistant'],
  ['developer', 'system'],
]);

/** Undefined for tools and their results, and for content without text. */
export function readMessage(value: unknown): TraceMessage | undefined {
  if (!isJsonObject(value)) return undefined;
  const name = value['role'] ?? value['from'];
  const role = typeof name === 'string' ? (roles.find((each) => each === name) ?? roleNames.get(name)) : undefined;
  const content = readContent(value['content'] ?? value['value'] ?? value['parts']);
  return role === undefined || content === '' ? undefined : { role, content };
}

/** Text, or the texts of a list of parts. */
function readContent(value: unknown): string {
  if (typeof value === 'string') return value.trim();
  if (!Array.isArray(value)) return '';
  const texts = value.map((part: unknown) => {
    if (!isJsonObject(part)) return '';
    return readContent(part['text'] ?? part['content']);
  });
  return texts.filter((text) => text !== '').join('\n');
}

/** The words and numbers that tools write for the same thing. Undefined for what says nothing. */
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

/** The messages up to the last question, if there is one. */
export function upToQuestion(messages: readonly TraceMessage[]): readonly TraceMessage[] | undefined {
  const at = messages.findLastIndex(({ role }) => role === 'user');
  return at === -1 ? undefined : messages.slice(0, at + 1);
}
