import { AgentJetError, type AssistantMessage, type Completion, type ToolSpec } from '@agentjet/core';
import type { ChatTokenizer, Tokenizer } from '@agentjet/tokenizer';
import type { CommittedTurn } from '../contract.js';

export type SampledReply = {
  readonly committed: CommittedTurn;
  /** The text that the model wrote, without its stop token. */
  readonly text: string;
  /** Whether the last id ended the turn. */
  readonly isStopped: boolean;
  /** The answer as text, if its calls were read without their tags. */
  readonly written: string | undefined;
};

/** The text that the answer must begin with, and the ids of its calls. */
export type ReplyBeginning = {
  readonly opening: string;
  readonly mintId: (place: number) => string;
  readonly tools: readonly ToolSpec[];
};

export function readReply(
  { tokenizer, template }: ChatTokenizer,
  completion: Completion,
  { opening, mintId, tools }: ReplyBeginning,
): SampledReply {
  checkCompletion(completion);
  const { ids, finishReason } = completion;
  const isStopped = ids.length > 0 && template.stopIds.includes(ids.at(-1) ?? -1);
  const text = tokenizer.decode(isStopped ? ids.subarray(0, -1) : ids);
  const reply = template.parse(opening + text, { tools, isSampled: true });
  const { content, reasoning, toolCalls, malformedToolCalls, untaggedToolCalls = 0, written } = reply;
  const message: AssistantMessage = {
    role: 'assistant',
    content,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls: toolCalls.map((call, place) => ({ id: mintId(place), ...call })) }),
  };
  const whole = toolCalls.length > 0 ? 'tool_calls' : 'stop';
  const committed = {
    message,
    finishReason: finishReason === 'length' && !isStopped ? 'length' : whole,
    malformedToolCalls: malformedToolCalls + untaggedToolCalls,
    tokenTexts: toTokenTexts(tokenizer, ids),
  } as const;
  return { committed, text, isStopped, written };
}

function checkCompletion({ ids, logprobs }: Completion): void {
  if (ids.length !== logprobs.length) {
    throw new AgentJetError(
      'bad_completion',
      `A completion has ${ids.length} ids and ${logprobs.length} logprobs; each sampled id needs one. The engine must return both in the same length.`,
    );
  }
  const at = ids.findIndex((id, place) => id < 0 || !Number.isFinite(logprobs[place]));
  if (at === -1) return;
  throw new AgentJetError(
    'bad_completion',
    `Token ${at} of a completion has the id ${ids[at]} and the logprob ${logprobs[at]}. Ids must be 0 or more and logprobs finite, or the token cannot be trained.`,
  );
}

const known = new WeakMap<Tokenizer, Map<number, string>>();

/** Returns the text of each token by itself. A part of a character is shown as U+FFFD. */
function toTokenTexts(tokenizer: Tokenizer, ids: Int32Array): readonly string[] {
  const texts = known.get(tokenizer) ?? new Map<number, string>();
  known.set(tokenizer, texts);
  return Array.from(ids, (id) => {
    const text = texts.get(id) ?? tokenizer.decode([id]);
    texts.set(id, text);
    return text;
  });
}
