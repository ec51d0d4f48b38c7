import {
  type AssistantMessage,
  type ChatMessage,
  type Completion,
  type ToolMessage,
  type ToolSpec,
  EngineError,
} from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import fc from 'fast-check';
import type { AgentIdentity, ContextTracker, Turn } from '../contract.js';
import { mergeTurns, respell, type Spelling, spellings } from './respell.js';

/**
 * One operation of an agent's program. The programs change a history in every way that real agents do. They are data,
 * so that fast-check can make and shrink them.
 */
export type Operation =
  | {
      readonly kind: 'call';
      readonly at: number;
      readonly answer: Answer;
      readonly isAborted: boolean;
      readonly opening: string;
    }
  | { readonly kind: 'settle' }
  | {
      readonly kind: 'rewrite';
      readonly at: number;
      readonly how: Rewrite;
      readonly where: number;
      readonly text: string;
    }
  | { readonly kind: 'respell'; readonly at: number; readonly how: Spelling };

export type Answer = {
  readonly kind:
    | 'text'
    | 'call'
    | 'calls'
    | 'silent calls'
    | 'thought'
    | 'thought call'
    | 'empty thought'
    | 'malformed'
    | 'empty'
    | 'bytes';
  readonly text: string;
  readonly isTruncated: boolean;
  /** Spells the answer letter by letter, as no tokenizer would. */
  readonly isOdd: boolean;
};

const rewrites = [
  'ask',
  'edit',
  'cut',
  'summarise',
  'remove',
  'error',
  'forget errors',
  'system',
  'remind',
  'tools',
  'rename',
  'copy',
  'foreign',
  'foreign call',
  'merge',
  'swap results',
  'result as question',
  'start',
  'start again',
] as const;
type Rewrite = (typeof rewrites)[number];

const shortText = fc.string({ unit: fc.constantFrom('a', 'th', 'e', ' ', '\n', 'é', 'ou', '😀', '"'), maxLength: 5 });

export const answers: fc.Arbitrary<Answer> = fc.record({
  kind: fc.constantFrom<Answer['kind'][]>(
    'text',
    'text',
    'call',
    'call',
    'calls',
    'silent calls',
    'thought',
    'thought call',
    'empty thought',
    'malformed',
    'empty',
    'bytes',
  ),
  text: shortText,
  isTruncated: fc.nat(4).map((n) => n === 0),
  isOdd: fc.boolean(),
});

const at = fc.nat(30);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      at,
      answer: answers,
      isAborted: fc.nat(6).map((n) => n === 0),
      opening: fc.constantFrom('', '', '', '', '', 'the ', '<tool_call>\n{"name": "calc", "arguments":'),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ kind: 'settle' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('rewrite' as const),
      at,
      how: fc.constantFrom(...rewrites),
      where: at,
      text: shortText,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('respell' as const), at, how: fc.constantFrom(...spellings) }),
  },
);

export const programs: fc.Arbitrary<readonly Operation[]> = fc.array(operation, { minLength: 2, maxLength: 30 });

type Conversation = {
  readonly agent: AgentIdentity;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolSpec[];
};
type Pending = {
  readonly turn: Turn;
  readonly conversation: Conversation;
  readonly place: number;
  readonly promptIds: Int32Array;
  readonly completion: Completion;
  readonly isAborted: boolean;
};

/** One committed call: the prompt for the engine (copied at the beginning), and the sampled ids. */
export type CommittedCall = {
  readonly agent: AgentIdentity;
  readonly promptIds: Int32Array;
  readonly completion: Completion;
  readonly turn: Turn;
};
export type BegunCall = { readonly turn: Turn; readonly conversation: Conversation; readonly opening: string };

export type RunOptions = {
  /** Returns the order in which calls that are open at the same time commit. */
  readonly order: (count: number) => readonly number[];
  /** If true, aborted calls are left out. */
  readonly skipAborted?: boolean;
  readonly onBegin?: (call: BegunCall) => void;
};

const opening: Conversation = {
  agent: { agentName: 'one', targetTag: 'tag' },
  messages: [
    { role: 'system', content: 'S' },
    { role: 'user', content: 'the U' },
  ],
  tools: [],
};

/** Runs a program against a tracker and returns the committed calls in the order in which they began. */
export function runProgram(
  program: readonly Operation[],
  tracker: ContextTracker,
  chatTokenizer: ChatTokenizer,
  options: RunOptions,
): readonly CommittedCall[] {
  const conversations: Conversation[] = [opening, { ...opening, agent: { agentName: 'two', targetTag: 'tag' } }];
  const calls: CommittedCall[] = [];
  let open: Pending[] = [];
  const settle = (): void => {
    const answered = commitAll(open, options.order);
    for (const { pending, message } of answered) {
      const { agent, messages, tools } = pending.conversation;
      calls.push({ agent, turn: pending.turn, promptIds: pending.promptIds, completion: pending.completion });
      const next = { agent, tools, messages: [...messages, message, ...follow(message)] };
      if (conversations[pending.place] === pending.conversation) conversations[pending.place] = next;
      else conversations.push(next);
    }
    open = [];
  };
  for (const step of program) {
    if (step.kind === 'settle') settle();
    else if (step.kind === 'call') open.push(...beginCall(step, conversations, tracker, chatTokenizer, options));
    else change(step, conversations);
  }
  settle();
  return calls;
}

function beginCall(
  step: Extract<Operation, { kind: 'call' }>,
  conversations: readonly Conversation[],
  tracker: ContextTracker,
  chatTokenizer: ChatTokenizer,
  { skipAborted = false, onBegin }: RunOptions,
): readonly Pending[] {
  const place = step.at % conversations.length;
  const conversation = conversations[place] ?? opening;
  if (skipAborted && step.isAborted) return [];
  try {
    const { agent, messages, tools } = conversation;
    const turn = tracker.begin(
      agent,
      { messages, ...(tools.length === 0 ? {} : { tools }) },
      { opening: step.opening },
    );
    onBegin?.({ turn, conversation, opening: step.opening });
    return [
      {
        turn,
        conversation,
        place,
        promptIds: turn.promptIds.slice(),
        completion: sample(step.answer, chatTokenizer),
        isAborted: step.isAborted,
      },
    ];
  } catch (error) {
    if (error instanceof EngineError && error.code === 'bad_request') return []; // the template refuses this conversation
    throw error;
  }
}

function commitAll(
  open: readonly Pending[],
  order: RunOptions['order'],
): readonly { readonly pending: Pending; readonly message: AssistantMessage }[] {
  const whole = open.filter(({ isAborted }) => !isAborted);
  const answered = order(whole.length).flatMap((place) => {
    const pending = whole[place];
    return pending === undefined ? [] : [{ place, pending, message: pending.turn.commit(pending.completion).message }];
  });
  return answered.sort((left, right) => left.place - right.place);
}

/** Returns a tool result for each call. If there are no calls, returns the next question. */
export function follow({ toolCalls = [] }: AssistantMessage): readonly ChatMessage[] {
  const results = toolCalls.map(
    ({ id, name }): ToolMessage => ({ role: 'tool', content: `${name} is on`, toolCallId: id }),
  );
  return results.length > 0 ? results : [{ role: 'user', content: 'go on' }];
}

function change(step: Exclude<Operation, { kind: 'call' | 'settle' }>, conversations: Conversation[]): void {
  const place = step.at % conversations.length;
  const conversation = conversations[place] ?? opening;
  const { messages } = conversation;
  if (step.kind === 'respell')
    conversations[place] = { ...conversation, messages: messages.map((message) => respell(message, step.how)) };
  else if (step.how === 'copy') conversations.push({ ...conversation });
  else if (step.how === 'start') conversations.push({ ...opening, messages: [{ role: 'user', content: step.text }] });
  else if (step.how === 'start again') conversations.push({ ...conversation, messages: opening.messages });
  else conversations[place] = rewrite(conversation, step.how, step);
}

function rewrite(
  conversation: Conversation,
  how: Exclude<Rewrite, 'copy' | 'start' | 'start again'>,
  { where, text }: { readonly where: number; readonly text: string },
): Conversation {
  const { messages } = conversation;
  const at = where % messages.length;
  const question: ChatMessage = { role: 'user', content: text };
  if (how === 'rename') return { ...conversation, agent: { agentName: `agent ${where % 3}`, targetTag: 'tag' } };
  if (how === 'tools')
    return {
      ...conversation,
      tools: where % 2 === 0 ? [] : [{ name: `tool ${where % 3}`, parameters: { type: 'object' } }],
    };
  const changed: Readonly<Record<typeof how, readonly ChatMessage[]>> = {
    ask: [...messages, question],
    edit: messages.map((message, index): ChatMessage => (index === at ? { ...message, content: text } : message)),
    cut: [...messages.slice(0, 1), ...messages.slice(Math.min(1 + at, messages.length - 1))],
    summarise: [...messages.slice(0, 1), { role: 'user', content: `summary ${text}` }, ...messages.slice(-2)],
    remove: messages.length < 2 ? messages : messages.toSpliced(at, 1),
    error: messages.toSpliced(at + 1, 0, { role: 'user', content: 'error' }),
    'forget errors': messages.filter(({ content }) => content !== 'error'),
    system: [{ role: 'system', content: text }, ...messages.filter(({ role }) => role !== 'system')],
    remind: [...messages, { role: 'system', content: text }],
    foreign: [...messages, { role: 'assistant', content: text }, question],
    'foreign call': [
      ...messages,
      { role: 'assistant', content: text, toolCalls: [{ id: '000000000', name: 'calc', arguments: '{}' }] },
      { role: 'tool', content: text, toolCallId: '000000000' },
    ],
    merge: mergeTurns(messages),
    'swap results': swapResults(messages, at),
    'result as question': [...messages, { role: 'user', content: `<tool_response>\n${text}\n</tool_response>` }],
  };
  return { ...conversation, messages: changed[how] };
}

/** Swaps the order in which parallel tools finished. */
function swapResults(messages: readonly ChatMessage[], at: number): readonly ChatMessage[] {
  const [one, two] = [messages[at], messages[at + 1]];
  return one?.role === 'tool' && two?.role === 'tool' ? messages.toSpliced(at, 2, two, one) : messages;
}

const writeCall = (text: string): string =>
  `<tool_call>\n{"name": "calc", "arguments": {"b": 2,  "a":1.0, "t": ${JSON.stringify(text)}}}\n</tool_call>`;

function write({ kind, text }: Answer): string {
  const written: Readonly<Record<Answer['kind'], string>> = {
    text: `the ${text}`,
    call: writeCall(text),
    calls: `${text}\n${writeCall('')}\n${writeCall(text)}`,
    'silent calls': `${writeCall(text)}\n${writeCall('')}`,
    thought: `<think>\n${text}th\n</think>\n\n${text}`,
    'thought call': `<think>\nwe ${text}\n</think>\n\n${writeCall(text)}`,
    'empty thought': `<think>\n\n</think>\n\n${text}`,
    malformed: `<tool_call>\n{"name": "calc", "argu${text}\n</tool_call>`,
    empty: '',
    bytes: text,
  };
  return written[kind];
}

/** Returns what an engine could sample: ids that spell the answer, canonically or not, or arbitrary bytes. */
export function sample(answer: Answer, { tokenizer, template }: ChatTokenizer): Completion {
  const text = write(answer);
  const pieces = answer.isOdd ? [...text].map((letter) => tokenizer.encode(letter)) : [tokenizer.encode(text)];
  const spelled =
    answer.kind === 'bytes'
      ? [...Buffer.from(text)].map((byte) => (byte * 7 + 128) % 256)
      : pieces.flatMap((piece) => [...piece]);
  const ids = Int32Array.from(answer.isTruncated ? spelled : [...spelled, template.stopIds[0] ?? 0]);
  return {
    ids,
    logprobs: Float32Array.from(ids, (id, at) => -(1 + (id % 7) + at) / 10),
    finishReason: answer.isTruncated ? 'length' : 'stop',
    policyVersion: text.length % 3,
  };
}
