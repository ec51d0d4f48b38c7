import { describe, expect, it } from 'vitest';
import { openScriptedEpisode } from '../testing/scripted-episode.js';
import { findMismatch } from './schema-mismatch.js';

const schema = { type: 'object', properties: { a: { type: 'number' } }, required: ['a'], additionalProperties: false };

describe('a value and its schema', () => {
  it.each([
    [{ a: 'one' }, 'a: Instance type "string" is invalid. Expected "number".'],
    [{}, 'the whole: Instance does not have required property "a".'],
    [{ a: 1, zzz: 1 }, 'the whole: Property "zzz" does not match additional properties schema.'],
  ])('differ: %j', (value, words) => {
    expect(findMismatch(schema, value)).toBe(words);
  });

  it('match', () => {
    expect(findMismatch(schema, { a: 1 })).toBeUndefined();
    expect(findMismatch({}, { b: [] })).toBeUndefined();
    expect(findMismatch({ $ref: '#/$defs/x', $defs: { x: schema } }, { a: 2 })).toBeUndefined();
  });

  it('cannot be compared if the schema cannot be read', () => {
    expect(findMismatch({ $ref: '#/nowhere' }, {})).toBeUndefined();
  });
});

describe('an answer that its schema does not allow is counted as malformed', () => {
  const messages = [{ role: 'user', content: 'hi' }] as const;
  const model = (reply: string) => {
    const episode = openScriptedEpisode({ replies: [reply] });
    return { episode, tuned: episode.tuner.selectModel({ agentName: 'a' }, (chat) => chat) };
  };

  it.each([
    ['{"a": 1}', 0],
    ['{"a": "one"}', 1],
    ['{"b": 1}', 1],
  ])('in a call: %s', async (args, malformedArguments) => {
    const { episode, tuned } = model(`<tool_call>\n{"name": "add", "arguments": ${args}}\n</tool_call>`);
    await tuned.generate({ messages, tools: [{ name: 'add', parameters: schema }] });
    expect(episode.finish().calls).toMatchObject({ malformedArguments, unknownTools: 0 });
  });

  it.each([
    ['{"a": 1}', 0],
    ['{"a": "one"}', 1],
    ['one', 1],
  ])('in JSON text: %s', async (text, malformedJson) => {
    const { episode, tuned } = model(text);
    await tuned.generate({ messages, responseFormat: { type: 'json_schema', name: 'x', schema } });
    expect(episode.finish().calls.malformedJson).toBe(malformedJson);
  });

  it('and the description of the format is in the prompt', async () => {
    const { episode, tuned } = model('{}');
    await tuned.generate({
      messages,
      responseFormat: { type: 'json_schema', name: 'x', description: 'A sum.', schema },
    });
    expect(episode.engine.requests[0]?.text).toContain('nothing else. What it is: A sum. It must match');
  });
});
