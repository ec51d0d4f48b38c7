import { type AssistantMessage, type ChatMessage, type ChatRequest, countOf } from '@agentjet/core';
import { failureFrames } from '@agentjet/rollout/loading';
import type { TranscriptCall, EpisodeTranscript } from '@agentjet/records';

/** Styles one part of a transcript, for example with a colour. */
export type TranscriptStyle = (kind: 'title' | 'label' | 'model' | 'good' | 'bad', text: string) => string;

const plain: TranscriptStyle = (_, text) => text;

function indent(text: string, width: number): string {
  return text.replace(/\n/g, `\n${' '.repeat(width)}`);
}

function countShared(seen: readonly string[], messages: readonly string[]): number {
  const difference = messages.findIndex((message, index) => message !== seen[index]);
  return difference < 0 ? messages.length : difference;
}

type Writer = { readonly style: TranscriptStyle; readonly nameWidth: number };

function formatPart(
  writer: Writer,
  part: { readonly agentName: string; readonly role: string; readonly text: string; readonly isModel?: boolean },
): string {
  const label = `${part.agentName.padEnd(writer.nameWidth)} ${part.isModel ? '>' : '|'} ${part.role.padEnd(9)} `;
  return (
    writer.style('label', label) +
    (part.isModel ? writer.style('model', indent(part.text, label.length)) : indent(part.text, label.length))
  );
}

function formatAssistant(
  writer: Writer,
  agentName: string,
  message: AssistantMessage,
  isModel: boolean,
): readonly string[] {
  const part = (role: string, text: string): string => formatPart(writer, { agentName, role, text, isModel });
  const calls = message.toolCalls ?? [];
  return [
    ...(message.reasoning === undefined ? [] : [part('reasoning', message.reasoning)]),
    ...(message.content === '' && calls.length > 0 ? [] : [part('assistant', message.content)]),
    ...calls.map((call) => part('tool call', `${call.name}(${call.arguments})`)),
  ];
}

function formatMessage(writer: Writer, agentName: string, message: ChatMessage): readonly string[] {
  if (message.role === 'assistant') return formatAssistant(writer, agentName, message, false);
  return [formatPart(writer, { agentName, role: message.role, text: message.content })];
}

function formatAnswer(writer: Writer, call: TranscriptCall): readonly string[] {
  if ('error' in call)
    return [writer.style('bad', formatPart(writer, { agentName: call.agentName, role: 'error', text: call.error }))];
  const { message, usage, finishReason } = call.response;
  const cut = finishReason === 'length' ? ', cut by a token limit' : '';
  const facts =
    call.untrainedModel === undefined
      ? `${usage.promptTokens} + ${usage.completionTokens} tokens`
      : `${call.untrainedModel}, not trained`;
  const note = `${' '.repeat(writer.nameWidth + 13)}(${facts}, ${call.seconds.toFixed(2)} s${cut})`;
  return [...formatAssistant(writer, call.agentName, message, true), writer.style('label', note)];
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value); // the value refers to itself
  }
}

/** Makes any value printable, because a workflow may pass a value that is not a message, and the debug run should show it. */
function toReadable(message: unknown): ChatMessage {
  const { role, content } = (typeof message === 'object' && message !== null ? message : {}) as {
    readonly role?: unknown;
    readonly content?: unknown;
  };
  if (typeof role !== 'string') return { role: 'user', content: toText(message) };
  return { ...(message as ChatMessage), content: toText(content ?? '') };
}

function readMessages(request: Partial<ChatRequest> | undefined): readonly ChatMessage[] {
  const { messages } = request ?? {};
  return Array.isArray(messages) ? messages.map(toReadable) : [];
}

/**
 * Shows each agent's messages once, in the order of the calls. Messages that an agent sends again unchanged are not
 * repeated.
 */
function formatCalls(writer: Writer, calls: readonly TranscriptCall[]): readonly string[] {
  const seen = new Map<string, readonly string[]>();
  return calls.flatMap((call) => {
    const { agentName } = call;
    const messages = readMessages(call.request);
    const sent = messages.map(toText);
    const before = seen.get(agentName) ?? [];
    const shared = countShared(before, sent);
    const continues = shared === before.length;
    const note = continues ? [] : [writer.style('label', `${agentName} sends a different history:`)];
    const ownTurn = continues && before.length > 0 && messages[shared]?.role === 'assistant' ? 1 : 0;
    const known = shared + ownTurn;
    seen.set(agentName, sent);
    return [
      ...note,
      ...messages.slice(known).flatMap((message) => formatMessage(writer, agentName, message)),
      ...formatAnswer(writer, call),
    ];
  });
}

function formatOutcome(style: TranscriptStyle, { episode, calls }: EpisodeTranscript): string {
  const facts = `${countOf(calls.length, 'call')}, ${episode.seconds.toFixed(1)} s`;
  if (episode.status === 'completed') {
    return style(
      episode.isSuccess ? 'good' : 'title',
      `reward ${Number(episode.reward.toFixed(4))}  success ${episode.isSuccess ? 'yes' : 'no'}  (${facts})`,
    );
  }
  const { code, message, agent } = episode.error;
  const whose = agent === undefined ? '' : `, agent "${agent}"`;
  const failure = [`failed (${code}): ${message}`, ...failureFrames(episode.error)].join('\n');
  return `${style('bad', failure)}\n(${facts}${whose})`;
}

/**
 * Failed calls that did not end the episode. Some failed before the model was asked, so they are not among its calls.
 */
function formatSwallowed(
  style: TranscriptStyle,
  { episode: { swallowedErrors = [] } }: EpisodeTranscript,
): readonly string[] {
  return swallowedErrors.map(({ agentName, message, times }) => {
    const count = times === 1 ? '' : ` ${times} times`;
    return style('bad', `A call of agent "${agentName}" failed${count}, and the episode continued: ${message}`);
  });
}

/**
 * Formats an episode for reading: each agent's messages once, the model's answers, and the outcome. It is plain text
 * unless a style is given.
 */
export function formatTranscript(transcript: EpisodeTranscript, style: TranscriptStyle = plain): string {
  const { episode, calls } = transcript;
  const writer = { style, nameWidth: Math.max(0, ...calls.map((call) => call.agentName.length)) };
  const title = `--- episode ${episode.episodeId}, task ${episode.task.taskId} `;
  return [
    style('title', title.padEnd(80, '-')),
    ...formatCalls(writer, calls),
    ...formatSwallowed(style, transcript),
    formatOutcome(style, transcript),
  ].join('\n');
}
