import { isJsonObject, type JsonObject, countOf } from '@agentjet/core';
import type { Fact } from './episode-facts.js';

/** The requests and answers of agents that do not learn, in the order in which their calls ended. */
export function describeUntrained(record: JsonObject): readonly Fact[] {
  const calls = Array.isArray(record['untrained_calls']) ? record['untrained_calls'].filter(isJsonObject) : [];
  if (calls.length === 0) return [];
  return [['not trained', summarize(calls)], ...calls.flatMap(describeCall)];
}

/** Formats calls as `writer: 3 calls to gpt-4, 2.1 s; critic: 1 call to nano, 0.1 s`. */
function summarize(calls: readonly JsonObject[]): string {
  const agents = [...new Set(calls.map(agentOf))];
  return agents
    .map((agent) => {
      const own = calls.filter((call) => agentOf(call) === agent);
      const models = [...new Set(own.map((call) => textOf(call['model'])))].join(', ');
      return `${agent}: ${countOf(own.length, 'call')} to ${models}, ${formatSeconds(own)}`;
    })
    .join('; ');
}

function describeCall(call: JsonObject): readonly Fact[] {
  const agent = agentOf(call);
  const messages = Array.isArray(call['messages']) ? call['messages'].filter(isJsonObject) : [];
  const { answer, error } = call;
  const said = isJsonObject(answer)
    ? textOf(answer['content'])
    : error === undefined
      ? '(not recorded)'
      : `error: ${textOf(error)}`;
  return [
    ...messages.map(({ role, content }): Fact => [`${agent} | ${textOf(role)}`, textOf(content)]),
    [`${agent} > answer`, said],
  ];
}

function agentOf(call: JsonObject): string {
  return textOf(call['agent_name']);
}

function formatSeconds(calls: readonly JsonObject[]): string {
  const ms = calls.reduce((sum, { began_ms: began, ended_ms: ended }) => sum + (Number(ended) - Number(began)), 0);
  return `${(ms / 1000).toFixed(1)} s`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
