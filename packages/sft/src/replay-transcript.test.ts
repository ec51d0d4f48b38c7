import type { ChatMessage, Sample } from '@agentjet/core';
import { createContextTracker } from '@agentjet/context-tracker';
import { createChatTokenizer, type ChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { describe, expect, it } from 'vitest';
import type { Conversation, Transcript } from './conversation.js';
import { replayTranscript } from './replay-transcript.js';

/**
 * A model answers an agent token by token, and the tracker records the calls. Then the same conversation is replayed
 * from its messages, with call ids of another model. The replay must give the same tokens and the same mask.
 */
const calc = { name: 'calc', parameters: { type: 'object' } };
const call = '<tool_call>\n{"name": "calc", "arguments": {"a":  1.0, "b":"é"}}\n</tool_call>';
const thought = (text: string): string => `<think>\n${text}\n</think>\n\n`;
const qwen3 = createChatTokenizerFiles('qwen3');

/** A template like that of DeepSeek-R1: the prompt opens a thinking block, and the history has no thinking. */
const opensThought = `{%- for m in messages %}<|im_start|>{{ m.role }}
{{ m.content.split('</think>')[-1] }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
<think>
{% endif %}`;

const families: readonly [string, ChatTokenizer, readonly string[]][] = [
  ['Qwen2.5', createChatTokenizer(createChatTokenizerFiles('chatml')), [call, 'It is 2.', 'Because.']],
  [
    'Qwen3, thinking',
    createChatTokenizer(qwen3),
    [thought('Ask the tool.') + call, `${thought('It says 2.')}It is 2.`, `${thought('Why, why.')}Because.`],
  ],
  [
    'Qwen3, not thinking',
    createChatTokenizer({ ...qwen3, templateVariables: { enable_thinking: false } }),
    [call, 'It is 2.', 'Because.'],
  ],
  [
    'Llama 3',
    createChatTokenizer(createChatTokenizerFiles('llama3')),
    ['{"name": "calc", "parameters": {"a":  1.0, "b":"é"}}', 'It is 2.', 'Because.'],
  ],
];

/** Records a conversation in which a model gives `answers`. Returns what was recorded, and the messages. */
function sample(chatTokenizer: ChatTokenizer, answers: readonly string[]) {
  const { tokenizer, template } = chatTokenizer;
  const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
  const history: ChatMessage[] = [{ role: 'system', content: 'You calculate.' }];
  for (const [at, answer] of answers.entries()) {
    const last = history.at(-1);
    const calls = last?.role === 'assistant' ? (last.toolCalls ?? []) : [];
    for (const { id } of calls) history.push({ role: 'tool', toolCallId: id, content: '2' });
    if (calls.length === 0) history.push({ role: 'user', content: `Question ${at}, the one and only.` });
    const turn = tracker.begin({ agentName: 'a', targetTag: 'a' }, { messages: history, tools: [calc] });
    const ids = Int32Array.from([...tokenizer.encode(answer), template.stopIds[0] ?? 0]);
    const completion = { ids, logprobs: new Float32Array(ids.length), finishReason: 'stop', policyVersion: 0 } as const;
    history.push(turn.commit(completion).message);
  }
  return { samples: tracker.finish(), messages: history };
}

const rename = (id: string): string => `call_of_another_model_${id.length}`;

/** Returns the messages as another model would have written them, with one id for all calls. */
function asForeign(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.map((message) => {
    if (message.role === 'tool') return { ...message, toolCallId: rename(message.toolCallId) };
    if (message.role !== 'assistant' || message.toolCalls === undefined) return message;
    return { ...message, toolCalls: message.toolCalls.map((each) => ({ ...each, id: rename(each.id) })) };
  });
}

function transcriptOf(messages: readonly ChatMessage[], changes: Partial<Conversation> = {}): Transcript {
  const imitated = messages.map(({ role }) => role === 'assistant');
  return {
    id: 'e',
    place: 'here',
    conversations: [{ agentName: 'a', targetTag: 'a', messages, imitated, tools: [calc], ...changes }],
    task: null,
    reward: null,
    isSuccess: null,
    hasFailed: false,
  };
}

const tokens = ({ ids, lossMask, turnIndices }: Sample) => [[...ids], [...lossMask], [...(turnIndices ?? [])]];

async function replay(chatTokenizer: ChatTokenizer, transcript: Transcript): Promise<readonly Sample[]> {
  const replayed = await replayTranscript(transcript, { chatTokenizer });
  if ('refused' in replayed) throw new Error(`${replayed.refused}: ${replayed.message}`);
  return replayed.samples;
}

describe.each(families)('%s', (_name, chatTokenizer, answers) => {
  it('gives the tokens and the mask that the tracker records when a model says the same', async () => {
    const { samples, messages } = sample(chatTokenizer, answers);
    const replayed = await replay(chatTokenizer, transcriptOf(asForeign(messages)));
    expect(replayed.map(tokens)).toEqual(samples.map(tokens));
    const imitated = replayed.flatMap(({ ids, lossMask }) => [...ids].filter((_, at) => lossMask[at] === 1));
    expect(chatTokenizer.tokenizer.decode(imitated)).toContain('It is 2.');
  });

  it('imitates only the answers that it is asked to, in the context of the others', async () => {
    const { messages } = sample(chatTokenizer, answers);
    const last = messages.length - 1;
    const only = transcriptOf(asForeign(messages), { imitated: messages.map((_, at) => at === last) });
    const rows = await replay(chatTokenizer, only);
    const imitated = rows.flatMap(({ ids, lossMask }) => [...ids].filter((_, at) => lossMask[at] === 1));
    expect(rows).toHaveLength(1);
    expect(chatTokenizer.tokenizer.decode(imitated)).toMatch(
      /^(<think>\nWhy, why.\n<\/think>\n\n)?Because\.<\|(im_end|eot_id)\|>$/,
    );
    expect(chatTokenizer.tokenizer.decode(rows[0]?.ids ?? [])).toContain('It is 2.');
  });
});

it('continues the thinking block that the prompt has opened', async () => {
  const chatTokenizer = createChatTokenizer({ ...qwen3, chatTemplate: opensThought });
  const messages: readonly ChatMessage[] = [
    { role: 'user', content: 'Why?' },
    { role: 'assistant', content: 'Because.', reasoning: 'Let me think.' },
  ];
  const [row] = await replay(chatTokenizer, transcriptOf(messages, { tools: [] }));
  const said = [...(row?.ids ?? [])].filter((_, at) => row?.lossMask[at] === 1);
  expect(chatTokenizer.tokenizer.decode(said)).toBe('Let me think.\n</think>\n\nBecause.<|im_end|>');
});

it("leaves thoughts out if the template turns the model's thinking off", async () => {
  const chatTokenizer = createChatTokenizer({ ...qwen3, templateVariables: { enable_thinking: false } });
  const messages: readonly ChatMessage[] = [
    { role: 'user', content: 'Why?' },
    { role: 'assistant', content: 'Because.', reasoning: 'Let me think.' },
  ];
  const [row] = await replay(chatTokenizer, transcriptOf(messages));
  const said = [...(row?.ids ?? [])].filter((_, at) => row?.lossMask[at] === 1);
  expect(chatTokenizer.tokenizer.decode(said)).toBe('Because.<|im_end|>');
});

it.each([
  ['a special token that ends the turn', 'One.<|im_end|>Two.'],
  ['what reads as a call', `See: ${call}`],
])('refuses an answer that holds %s', async (_what, content) => {
  const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('chatml'));
  const messages: readonly ChatMessage[] = [
    { role: 'user', content: 'Why?' },
    { role: 'assistant', content },
  ];
  expect(await replayTranscript(transcriptOf(messages), { chatTokenizer })).toMatchObject({ refused: 'unprintable' });
});

it('trains an answer once that is in two conversations of an episode', async () => {
  const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('chatml'));
  const { messages } = sample(chatTokenizer, ['It is 2.', 'Because.']);
  const other = [
    ...messages.slice(0, 3),
    { role: 'user', content: 'And else?' },
    { role: 'assistant', content: 'No.' },
  ];
  const [first] = transcriptOf(messages).conversations;
  const [second] = transcriptOf(other as readonly ChatMessage[]).conversations;
  const both = { ...transcriptOf(messages), conversations: [first, second].filter((each) => each !== undefined) };
  const rows = await replay(chatTokenizer, both);
  const texts = rows.map(({ ids, lossMask }) =>
    chatTokenizer.tokenizer.decode([...ids].filter((_, at) => lossMask[at] === 1)),
  );
  expect(texts.toSorted()).toEqual(['Because.<|im_end|>', 'It is 2.<|im_end|>No.<|im_end|>']);
});

it('has the tokens of a forced call after the opening that the prompt has', async () => {
  const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('chatml'));
  const messages: readonly ChatMessage[] = [
    { role: 'user', content: 'Calculate.' },
    { role: 'assistant', content: '', toolCalls: [{ id: 'x', name: 'calc', arguments: '{"a": 1}' }] },
  ];
  const [row] = await replay(chatTokenizer, transcriptOf(messages, { toolChoice: 'required' }));
  const { tokenizer, template } = chatTokenizer;
  const said = tokenizer.decode([...(row?.ids ?? [])].filter((_, at) => row?.lossMask[at] === 1));
  const opening = template.callOpening?.() ?? '';
  expect(opening).not.toBe('');
  expect(template.parse(opening + said.replace('<|im_end|>', '')).toolCalls).toEqual([
    { name: 'calc', arguments: '{"a": 1}' },
  ]);
});

it('imitates bare JSON as it was written if tool calls are read leniently', async () => {
  const written = '{"name": "calc", "arguments": {"a":  1.0}}';
  const chatTokenizer = createChatTokenizer({ ...createChatTokenizerFiles('chatml'), toolCalls: 'lenient' });
  const messages: readonly ChatMessage[] = [
    { role: 'user', content: 'What is 1 + 1?' },
    { role: 'assistant', content: written },
  ];
  const conversation = { agentName: 'a', targetTag: 'a', messages, imitated: [false, true], tools: [calc] };
  const replayed = await replayTranscript({ id: 'e', conversations: [conversation] } as unknown as Transcript, {
    chatTokenizer,
    historyPolicy: 'as_generated',
    specialTokensInText: 'split',
  });
  if ('refused' in replayed) throw new Error(replayed.message);
  const [sample] = replayed.samples;
  const imitated = [...(sample?.ids ?? [])].filter((_id, at) => sample?.lossMask[at] === 1);
  expect(chatTokenizer.tokenizer.decode(imitated)).toBe(`${written}<|im_end|>`);
});
