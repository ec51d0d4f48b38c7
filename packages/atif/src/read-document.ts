import { isJsonObject, type JsonObject } from '@agentjet/core';
import { type AtifDocument, type AtifStep, isAtif } from './document.js';

/** The error of a document. The message begins with the path of the value at fault. */
export class BadAtif extends Error {}

/** Checks a document as far as it is read. Throws BadAtif. Fields that are not read are not checked. */
export function readTrajectory(value: unknown, place = ''): AtifDocument {
  if (!isJsonObject(value)) throw new BadAtif(`${place || 'The document'} is not an object.`);
  const { schema_version: version, steps, agent, subagent_trajectories: inner } = value;
  if (!isAtif(value)) throw new BadAtif(`${place}schema_version is ${JSON.stringify(version)}; expected "ATIF-v1.8".`);
  if (!isJsonObject(agent) || typeof agent['name'] !== 'string')
    throw new BadAtif(`${place}agent.name is missing; a document names its agent.`);
  if (!Array.isArray(steps) || steps.length === 0)
    throw new BadAtif(
      `${place}steps is ${steps === undefined ? 'missing' : 'empty'}; a document has at least one step.`,
    );
  steps.forEach((step: unknown, at) => checkStep(step, at, `${place}steps[${at}]`));
  if (Array.isArray(inner))
    inner.forEach((each: unknown, at) => readTrajectory(each, `${place}subagent_trajectories[${at}].`));
  return value as AtifDocument;
}

function checkStep(step: unknown, at: number, place: string): void {
  if (!isJsonObject(step)) throw new BadAtif(`${place} is not an object.`);
  const { step_id: id, source, message, tool_calls: calls, observation } = step as Partial<AtifStep> & JsonObject;
  if (id !== at + 1) throw new BadAtif(`${place}.step_id is ${JSON.stringify(id)}; it must be ${at + 1}.`);
  if (source !== 'system' && source !== 'user' && source !== 'agent')
    throw new BadAtif(`${place}.source is ${JSON.stringify(source)}; it must be system, user or agent.`);
  checkContent(message, `${place}.message`);
  const ids = new Set<unknown>();
  for (const [index, call] of (calls ?? []).entries()) {
    checkCall(call, `${place}.tool_calls[${index}]`);
    ids.add(call.tool_call_id);
  }
  for (const [index, result] of (observation?.results ?? []).entries()) {
    const { source_call_id: caller, content } = result;
    if (content != null) checkContent(content, `${place}.observation.results[${index}].content`);
    if (caller != null && !ids.has(caller))
      throw new BadAtif(
        `${place}.observation.results[${index}].source_call_id is ${JSON.stringify(caller)}, which is not a call of this step.`,
      );
  }
}

function checkCall(call: unknown, place: string): void {
  if (!isJsonObject(call)) throw new BadAtif(`${place} is not an object.`);
  for (const name of ['tool_call_id', 'function_name'])
    if (typeof call[name] !== 'string') throw new BadAtif(`${place}.${name} is missing.`);
  if (!isJsonObject(call['arguments'])) throw new BadAtif(`${place}.arguments is not an object.`);
}

/** Content is a string or a list of parts. Parts of other types than text cannot be shown to the model. */
function checkContent(content: unknown, place: string): void {
  if (typeof content === 'string') return;
  if (!Array.isArray(content)) throw new BadAtif(`${place} is ${JSON.stringify(content)}; expected string or list.`);
  const other = content.findIndex((part: unknown) => !isJsonObject(part) || typeof part['text'] !== 'string');
  if (other < 0) return;
  const part: unknown = content[other];
  const type = isJsonObject(part) ? String(part['type']) : 'none';
  throw new BadAtif(`${place}[${other}] has the type '${type}'. The model reads only text.`);
}
