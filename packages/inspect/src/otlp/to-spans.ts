import { textOfAtif, type AtifDocument, type AtifStep } from '@agentjet/atif';
import { isJsonObject, toArgumentText } from '@agentjet/core';
import type { RecordedEpisode } from '@agentjet/run-folder';
import { type SpanMessage, toMessageValues } from './message-values.js';
import { type OtlpSpan, type SpanValues, toSpanId, toTraceId } from './span.js';

/**
 * Converts an episode to the spans of one trace: the episode, below it one span for each of its documents (each agent,
 * and each fork of its history), and below these the calls of the model and of tools. Each call is in one document.
 */
export function toSpans(record: RecordedEpisode, documents: readonly AtifDocument[]): readonly OtlpSpan[] {
  const { episode_id: id, began_at: began, seconds, status } = record;
  const beganAt = (typeof began === 'string' ? Date.parse(began) : Number.NaN) || 0;
  const traceId = toTraceId(id);
  const error = isJsonObject(record['error']) ? String(record['error']['message']) : 'failed';
  const root: OtlpSpan = {
    traceId,
    spanId: toSpanId(traceId, 'episode'),
    name: 'episode',
    beganAt,
    endedAt: beganAt + (typeof seconds === 'number' ? seconds * 1000 : 0),
    attributes: { ...kind('CHAIN'), ...sessionOf(id), ...factsOf(record) },
    ...(status === 'failed' && { error }),
  };
  return [root, ...documents.flatMap((document, at) => toAgentSpans(document, { root, at, id }))];
}

const kind = (name: 'CHAIN' | 'AGENT' | 'LLM' | 'TOOL'): SpanValues => ({ 'openinference.span.kind': name });
const sessionOf = (id: string): SpanValues => ({ 'session.id': id, 'gen_ai.conversation.id': id });

const facts = ['task_id', 'step', 'phase', 'status', 'reward', 'is_success', 'attempt'] as const;

/** The reward is also `feedback.score`, which readers of traces take for the feedback of a person. */
function factsOf(record: RecordedEpisode): SpanValues {
  const entries = facts.flatMap((name) => {
    const value = record[name];
    return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
      ? [[`agentjet.${name}`, value] as const]
      : [];
  });
  const { main_query: question, reward } = record;
  return {
    ...Object.fromEntries(entries),
    ...(typeof question === 'string' && { 'input.value': question }),
    ...(typeof reward === 'number' && { 'feedback.score': reward }),
  };
}

type Place = { readonly root: OtlpSpan; readonly at: number; readonly id: string };

function toAgentSpans(document: AtifDocument, { root, at, id }: Place): readonly OtlpSpan[] {
  const { traceId } = root;
  const { name, model_name: model } = document.agent;
  const spanId = toSpanId(traceId, `agent ${at}`);
  const shared = { ...sessionOf(id), 'gen_ai.agent.name': name };
  const walk = new Walk({ traceId, spanId, at, beganAt: root.beganAt, model, shared });
  for (const step of document.steps) walk.add(step);
  if (walk.spans.length === 0) return [];
  const answer = walk.messages.findLastIndex(({ role }) => role === 'assistant');
  const own: OtlpSpan = {
    traceId,
    spanId,
    parentSpanId: root.spanId,
    name: `invoke_agent ${name}`,
    beganAt: Math.min(...walk.spans.map((span) => span.beganAt)),
    endedAt: Math.max(...walk.spans.map((span) => span.endedAt)),
    attributes: {
      ...kind('AGENT'),
      ...shared,
      'gen_ai.operation.name': 'invoke_agent',
      ...toMessageValues('input', walk.messages.slice(0, answer)),
      ...toMessageValues('output', walk.messages.slice(answer, answer + 1)),
      ...(root.attributes['feedback.score'] !== undefined && { 'feedback.score': root.attributes['feedback.score'] }),
    },
  };
  return [own, ...walk.spans];
}

type WalkOptions = {
  readonly traceId: string;
  readonly spanId: string;
  readonly at: number;
  readonly beganAt: number;
  readonly model: string | undefined;
  readonly shared: SpanValues;
};

/** Goes through the steps of a document with the messages that the model has seen so far. */
class Walk {
  readonly messages: SpanMessage[] = [];
  readonly spans: OtlpSpan[] = [];
  readonly #options: WalkOptions;
  #now: number;

  constructor(options: WalkOptions) {
    this.#options = options;
    this.#now = options.beganAt;
  }

  add(step: AtifStep): void {
    const content = textOfAtif(step.message);
    if (step.source !== 'agent') {
      this.messages.push({ role: step.source, content });
      return;
    }
    const answer = toAnswer(step, content);
    const isOwn = step.is_copied_context !== true && step.llm_call_count !== 0;
    if (isOwn) this.#addCall(step, answer);
    this.messages.push(answer);
    for (const [at, result] of (step.observation?.results ?? []).entries()) {
      const seen: SpanMessage = {
        role: 'tool',
        content: textOfAtif(result.content ?? ''),
        ...(result.source_call_id !== undefined && { callId: result.source_call_id }),
      };
      this.messages.push(seen);
      if (isOwn) this.#addTool(`${step.step_id} ${at}`, answer, seen);
    }
  }

  #addCall({ step_id: number, timestamp, metrics, extra }: AtifStep, answer: SpanMessage): void {
    const { model } = this.#options;
    const ours = isJsonObject(extra?.['agentjet']) ? extra['agentjet'] : {};
    const beganAt = timestamp === undefined ? this.#now : Date.parse(timestamp);
    this.#now = typeof ours['ended_at'] === 'string' ? Date.parse(ours['ended_at']) : beganAt;
    const finish = ours['is_truncated'] === true ? 'length' : (answer.calls ?? []).length > 0 ? 'tool_call' : 'stop';
    const { prompt_tokens: prompt = 0, completion_tokens: completion = 0 } = metrics ?? {};
    this.#add(`call ${number}`, `chat ${model ?? 'model'}`, beganAt, {
      ...kind('LLM'),
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'agentjet',
      ...(model !== undefined && { 'gen_ai.request.model': model, 'llm.model_name': model }),
      ...(typeof ours['turn_id'] === 'string' && { 'gen_ai.response.id': ours['turn_id'] }),
      'gen_ai.response.finish_reasons': [finish],
      'gen_ai.usage.input_tokens': prompt,
      'gen_ai.usage.output_tokens': completion,
      'llm.token_count.prompt': prompt,
      'llm.token_count.completion': completion,
      'llm.token_count.total': prompt + completion,
      ...toMessageValues('input', this.messages),
      ...toMessageValues('output', [answer], finish),
    });
  }

  #addTool(place: string, { calls = [] }: SpanMessage, { callId, content }: SpanMessage): void {
    const call = calls.find(({ id }) => id === callId);
    const name = call?.name ?? 'unknown';
    this.#add(`tool ${place}`, `execute_tool ${name}`, this.#now, {
      ...kind('TOOL'),
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'tool.name': name,
      ...(call !== undefined && {
        'gen_ai.tool.call.id': call.id,
        'gen_ai.tool.call.arguments': call.arguments,
        'input.value': call.arguments,
      }),
      'gen_ai.tool.call.result': content,
      'output.value': content,
    });
  }

  #add(place: string, name: string, beganAt: number, values: SpanValues): void {
    const { traceId, spanId, at, shared } = this.#options;
    this.spans.push({
      traceId,
      spanId: toSpanId(traceId, `${at} ${place}`),
      parentSpanId: spanId,
      name,
      beganAt,
      endedAt: this.#now,
      attributes: { ...shared, ...values },
    });
  }
}

function toAnswer({ reasoning_content: reasoning, tool_calls: calls = [] }: AtifStep, content: string): SpanMessage {
  return {
    role: 'assistant',
    content,
    ...(reasoning !== undefined && { reasoning }),
    ...(calls.length > 0 && {
      calls: calls.map(({ tool_call_id: id, function_name: name, arguments: args, extra }) => {
        const written = extra?.['arguments_text'];
        return { id, name, arguments: typeof written === 'string' ? written : toArgumentText(args) };
      }),
    }),
  };
}
