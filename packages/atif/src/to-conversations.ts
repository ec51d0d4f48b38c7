import { isJsonObject, type JsonObject, toArgumentText } from '@agentjet/core';
import type { AtifDocument, AtifPart, AtifStep } from './document.js';

/**
 * Converts a document and the documents inside of it to conversations in OpenAI's fine-tuning format, with our fields of
 * the episode. Answers that are only context have the weight 0.
 */
export function toConversations(document: AtifDocument, sessionId = document.session_id): readonly JsonObject[] {
  const { agent, steps, subagent_trajectories: inner = [], extra, trajectory_id: id } = document;
  const ours = isJsonObject(extra?.['agentjet']) ? extra['agentjet'] : {};
  const episodeId = sessionId ?? id;
  const line = {
    messages: steps.flatMap(toMessages),
    ...(agent.tool_definitions !== undefined && { tools: agent.tool_definitions }),
    agent: agent.name,
    ...(isJsonObject(agent.extra) && { target: agent.extra['target_tag'] }),
    ...(episodeId !== undefined && { episode_id: episodeId }),
    ...pick(ours, ['task_id', 'reward', 'is_success', 'status']),
  };
  return [line, ...inner.flatMap((each) => toConversations(each, sessionId))];
}

function pick(from: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])));
}

function toMessages(step: AtifStep): readonly JsonObject[] {
  const { source, message, observation } = step;
  const content = textOfAtif(message);
  const results = observation?.results ?? [];
  if (source !== 'agent') {
    const seen = results.map((result) => ({ role: 'user', content: textOfAtif(result.content ?? '') }));
    return content === '' && seen.length > 0 ? seen : [{ role: source, content }, ...seen];
  }
  const calls = step.tool_calls ?? [];
  const open = calls.map(({ tool_call_id: id }) => id);
  const answers = results.map((result): JsonObject => {
    const id = result.source_call_id ?? open[0];
    if (id !== undefined && open.includes(id)) open.splice(open.indexOf(id), 1);
    const seen = textOfAtif(result.content ?? '');
    return id === undefined ? { role: 'user', content: seen } : { role: 'tool', tool_call_id: id, content: seen };
  });
  return [toAnswer(step, content), ...answers];
}

function toAnswer(step: AtifStep, content: string): JsonObject {
  const { reasoning_content: reasoning, tool_calls: calls = [], is_copied_context: isCopied } = step;
  const isContext = isCopied === true || step.llm_call_count === 0 || (content === '' && calls.length === 0);
  return {
    role: 'assistant',
    content,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ tool_call_id: id, function_name: name, arguments: args, extra }) => {
        const written = extra?.['arguments_text'];
        const text = typeof written === 'string' ? written : toArgumentText(args);
        return { id, type: 'function', function: { name, arguments: text } };
      }),
    }),
    ...(isContext && { weight: 0 }),
  };
}

/** Returns the text of a message or of a result, without its images. */
export function textOfAtif(content: string | readonly AtifPart[]): string {
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('');
}
