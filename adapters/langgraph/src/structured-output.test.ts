import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { OutputParserException } from '@langchain/core/output_parsers';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import * as z3 from 'zod/v3';
import { asModel } from './index.js';

const parameters = {
  type: 'object',
  properties: { code: { type: 'string' } },
  required: ['code'],
  additionalProperties: false,
};
type Check =
  | { readonly value: unknown }
  | { readonly issues: readonly { message: string; path: readonly unknown[] }[] };
const validate = (value: unknown): Check => {
  const { code } = value as { readonly code?: unknown };
  return typeof code === 'string'
    ? { value: { code } }
    : { issues: [{ message: 'Expected a string.', path: [{ key: 'code' }] }] };
};

/** Schemas of every kind, all of which describe the same answer. */
const schemas: Readonly<Record<string, object>> = {
  'zod 4': z.object({ code: z.string() }),
  'zod 3': z3.z.object({ code: z3.z.string() }),
  'a Standard Schema that knows JSON schema': {
    '~standard': { version: 1, vendor: 'valibot', validate, jsonSchema: { input: () => parameters } },
  },
  'a Standard Schema that checks later': {
    '~standard': {
      version: 1,
      vendor: 'valibot',
      validate: async (value: unknown) => validate(value),
      jsonSchema: { input: () => parameters },
    },
  },
  'ArkType’s function': Object.assign(() => undefined, {
    '~standard': { version: 1, vendor: 'arktype', validate },
    toJsonSchema: () => parameters,
  }),
  'a JSON schema': parameters,
  'OpenAI’s form': { name: 'snippet', description: 'Some code.', parameters },
};

const methods = ['functionCalling', 'jsonSchema', 'jsonMode'] as const;
type Method = (typeof methods)[number];

/** Scripts the model's answers. With `functionCalling`, the engine has already written the opening of the call. */
function open(method: Method, ...answers: readonly string[]) {
  const episode = openScriptedEpisode({
    replies: answers.map((json) => (method === 'functionCalling' ? ` ${json}}\n</tool_call>` : json)),
  });
  return { episode, model: asModel(episode.tuner, { agentName: 'solver' }) };
}

describe.each(methods)('withStructuredOutput by %s', (method) => {
  it.each(Object.entries(schemas))('reads what the model wrote, as it is: %s', async (_kind, schema) => {
    for (const code of ['```42```', '```json\n{"a": 1}\n```', 'a "b" \\ \n', '']) {
      const { model, episode } = open(method, JSON.stringify({ code }));
      expect(await model.withStructuredOutput(schema as never, { method }).invoke('hi')).toEqual({ code });
      if (method !== 'jsonMode') expect(episode.engine.requests[0]?.text).toContain('"code"');
      expect(episode.finish().calls).toMatchObject({ malformedArguments: 0, malformedJson: 0, malformedToolCalls: 0 });
    }
  });

  it.each(Object.entries(schemas))('says where an answer leaves the schema: %s', async (_kind, schema) => {
    const { model, episode } = open(method, '{"code": 42}');
    const error = await model
      .withStructuredOutput(schema as never, { method })
      .invoke('hi')
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OutputParserException);
    expect((error as Error).message).toMatch(
      /^The answer does not match the schema \(code: .*string.*\{"code": ?42\}/s,
    );
    const { malformedArguments, malformedJson } = episode.finish().calls;
    expect(malformedArguments + malformedJson).toBe(method === 'jsonMode' ? 0 : 1);
  });

  it('keeps the raw answer if it leaves the schema, and both if it does not', async () => {
    const { model } = open(method, '{"code": 42}', '{"code": "x"}');
    const asking = model.withStructuredOutput(parameters, { method, includeRaw: true });
    expect(await asking.invoke('hi')).toMatchObject({ raw: { type: 'ai' }, parsed: null });
    expect(await asking.invoke('hi')).toMatchObject({ raw: { type: 'ai' }, parsed: { code: 'x' } });
  });

  it('says what it saw if there is no object', async () => {
    const { model, episode } = open(method, '{"code": ');
    await expect(model.withStructuredOutput(parameters, { method }).invoke('hi')).rejects.toThrow(
      method === 'functionCalling'
        ? /^The answer has no readable call of "extract": .*\{"code": /s
        : /^The answer is not a JSON object: \{"code": /,
    );
    const { malformedJson, malformedToolCalls } = episode.finish().calls;
    expect(malformedJson + malformedToolCalls).toBe(1);
  });

  it('gives what zod makes of the answer', async () => {
    const schema = z.object({ code: z.string().transform((code) => code.length), more: z.number().default(7) });
    const { model } = open(method, '{"code": "abc"}');
    expect(await model.withStructuredOutput(schema, { method }).invoke('hi')).toEqual({ code: 3, more: 7 });
  });
});

it('a code block around the whole answer is taken off', async () => {
  const { model } = open('jsonSchema', '```json\n{"code": "```42```"}\n```');
  expect(await model.withStructuredOutput(parameters, { method: 'jsonSchema' }).invoke('hi')).toEqual({
    code: '```42```',
  });
});

it('the description of a schema reaches the model, with both methods', async () => {
  for (const method of ['functionCalling', 'jsonSchema'] as const) {
    for (const schema of [schemas['OpenAI’s form'], z.object({ code: z.string() }).describe('Some code.')]) {
      const { model, episode } = open(method, '{"code": "x"}');
      await model.withStructuredOutput(schema as never, { method }).invoke('hi');
      expect(episode.engine.requests[0]?.text).toContain('Some code.');
    }
  }
});

it('strict is counted, with both methods', async () => {
  for (const method of ['functionCalling', 'jsonSchema'] as const) {
    const { model, episode } = open(method, '{"code": "x"}');
    await model.withStructuredOutput(parameters, { method, strict: true }).invoke('hi');
    expect(Object.keys(episode.finish().ignoredParameters['solver'] ?? {})).toEqual([expect.stringMatching(/strict$/)]);
  }
});

it('a method that is not known, and a schema that cannot be shown, are refused at once', () => {
  const { model } = open('jsonSchema', 'x');
  expect(() => model.withStructuredOutput(parameters, { method: 'grammar' })).toThrow(
    'The method "grammar" of withStructuredOutput is not known. Use functionCalling, jsonSchema or jsonMode.',
  );
  expect(() =>
    model.withStructuredOutput({ '~standard': { version: 1, vendor: 'valibot', validate } } as never),
  ).toThrow(/vendor "valibot".*toStandardJsonSchema\(schema\)/);
});

describe('response_format', () => {
  const schema = { type: 'object', properties: { code: { type: 'string' } } };
  const forms: readonly object[] = [
    { type: 'json_schema', json_schema: { name: 'a', schema } },
    { type: 'json_schema', schema },
    { type: 'json_object', schema },
  ];

  it.each(forms)('shows the model the schema: %j', async (format) => {
    const { model, episode } = open('jsonSchema', '{"code": 1}');
    await model.invoke('hi', { response_format: format });
    expect(episode.engine.requests[0]?.text).toContain('"properties":{"code":{"type":"string"}}');
    expect(episode.finish().calls.malformedJson).toBe(1);
  });

  it.each([{ type: 'json_schema' }, { type: 'grammar' }, { type: 'json_schema', json_schema: { name: 'a' } }])(
    'is refused if it has no schema, or is of another type: %j',
    async (format) => {
      await expect(open('jsonSchema', 'x').model.invoke('hi', { response_format: format })).rejects.toThrow(
        /response_format .* is not supported\. Use \{ type: 'text' \}/,
      );
    },
  );
});
