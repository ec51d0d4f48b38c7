import { z } from 'zod';
import { errorMeaning, errorSchema, errorStatus, type ErrorCode } from './error-codes.js';
import { fieldMeanings } from './field-meanings.js';
import { modelRoutes, parametersOf, type CallRoute } from './model-routes.js';
import { trainingEventSchema } from './operations.js';
import { agentHeaders, callHeaders, commonHeaders, wireVersion } from './queries.js';
import { errorsOf, routes, type Route } from './routes.js';

type Json = Readonly<Record<string, unknown>>;

/** The contract as an OpenAPI 3.1 document, generated from the schemas that check requests. */
export function createOpenApi(): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  const add = (path: string, method: string, operation: Json): void => {
    paths[path] = { ...paths[path], [method]: operation };
  };
  for (const route of routes) add(`/swarm/v1${route.path}`, route.method, describe(route));
  for (const route of modelRoutes) {
    add(`/e/{episode}/{agent}${route.path}`, route.method, describeCall(route, 'agent'));
    add(`/e/{episode}${route.path}`, route.method, describeCall(route, 'headers'));
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'AgentJet swarm',
      version: wireVersion,
      description:
        'A server that hands out episodes, answers the model calls of agents, and trains the model. Every request can be repeated safely.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The server that sent this document.' }],
    tags: [
      { name: 'swarm', description: 'Episodes, tasks, keys and orders.' },
      { name: 'model', description: 'Model calls of a claimed episode, with the key of its claim.' },
    ],
    paths,
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'A key of a worker, an observer or a commander.' },
        episodeKey: { type: 'http', scheme: 'bearer', description: 'The key that came with the claim of the episode.' },
        episodeKeyHeader: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description: 'The same, for clients of Anthropic.',
        },
      },
      schemas: {
        Error: toSchema(errorSchema),
        TrainingEvent: toSchema(trainingEventSchema),
        ModelError: modelError,
      },
    },
  };
}

function describe(route: Route): Json {
  const { method, path, role, summary, params = {}, query, headers, request } = route;
  const hasBody = request !== undefined && method !== 'get';
  return {
    operationId: toOperationId(method, path),
    tags: ['swarm'],
    summary,
    ...(role === undefined ? { security: [] } : { security: [{ key: [] }], 'x-ajet-role': role }),
    parameters: [
      ...Object.entries(params).map(([name, schema]) => toParameter('path', name, { schema, isRequired: true })),
      ...fieldsOf('query', query),
      ...fieldsOf('header', headers),
      ...fieldsOf('header', commonHeaders),
    ],
    ...(hasBody && { requestBody: { required: true, content: json(toSchema(request, 'input')) } }),
    responses: { ...answersOf(route), ...describeErrors(errorsOf(route)) },
  };
}

function answersOf({ answers, media = 'application/octet-stream' }: Route): Json {
  const rows = Object.entries(answers).map(([status, schema]) => {
    const description = answerWords[status] ?? 'Done.';
    if (schema === undefined && status === '416') return [status, { description }];
    const content = schema === undefined ? { [media]: { schema: { type: 'string' } } } : json(toSchema(schema));
    return [status, { description, content }];
  });
  return Object.fromEntries(rows) as Json;
}

const answerWords: Readonly<Record<string, string>> = {
  200: 'Done.',
  201: 'Made.',
  202: 'Accepted. It is carried out soon.',
  206: 'The part of the file.',
  416: 'The file does not have these bytes.',
  503: 'The server takes no work now.',
};

/** Describes the errors of a route by status. Each status lists its codes with their meanings. */
function describeErrors(codes: readonly ErrorCode[]): Json {
  const statuses = [...new Set(codes.map((code) => errorStatus(code)))].sort((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => {
      const own = codes.filter((code) => errorStatus(code) === status);
      const description = own.map((code) => `\`${code}\`: ${errorMeaning(code)}`).join(' ');
      const headers = {
        'x-request-id': { description: 'The id of the request in the log of the server.', schema: { type: 'string' } },
        ...((status === 503 || status === 429) && {
          'retry-after': {
            description: 'The seconds to wait before the request is repeated.',
            schema: { type: 'integer' },
          },
        }),
      };
      const schema = { allOf: [refTo('Error')], 'x-ajet-codes': own };
      return [String(status), { description, headers, content: json(schema) }];
    }),
  );
}

/** Describes a model call. The agent is named in the path, or in headers. */
function describeCall(
  { method, path, summary, protocol, required = [] }: CallRoute,
  agentIn: 'agent' | 'headers',
): Json {
  const inPath = {
    episode: z.string().describe('The id of the episode.'),
    ...(agentIn === 'agent' && {
      agent: z.string().describe('The name of the agent, or `<agent>~<target>` if its target has another name.'),
    }),
    ...(path.includes('{model}') && { model: z.string().describe('Any name.') }),
  };
  const body = protocol && {
    type: 'object',
    properties: parametersOf(protocol),
    required,
    additionalProperties: true,
    description: 'Other parameters are refused by name.',
  };
  return {
    operationId: `${toOperationId(method, path)}${agentIn === 'headers' ? 'ByHeader' : ''}`,
    tags: ['model'],
    summary,
    security: [{ episodeKey: [] }, { episodeKeyHeader: [] }],
    parameters: [
      ...Object.entries(inPath).map(([name, schema]) => toParameter('path', name, { schema, isRequired: true })),
      ...(agentIn === 'headers' ? fieldsOf('header', agentHeaders) : []),
      ...(protocol === undefined ? [] : fieldsOf('header', callHeaders)),
    ],
    ...(body !== undefined && { requestBody: { required: true, content: json(body) } }),
    responses: {
      200: {
        description: 'The answer of the model, in the form of its protocol.',
        content: {
          ...json({ type: 'object' }),
          ...(protocol !== undefined && { 'text/event-stream': { schema: { type: 'string' } } }),
        },
      },
      ...Object.fromEntries(
        Object.entries(callErrors).map(([status, description]) => [
          status,
          { description, content: json(refTo('ModelError')) },
        ]),
      ),
    },
  };
}

const callErrors: Readonly<Record<string, string>> = {
  400: 'A parameter is refused by name, or the conversation cannot be printed.',
  401: 'The key is not the key of this episode.',
  404: 'There is nothing at this address, or the target is not trained here.',
  405: 'The address takes POST.',
  410: 'The episode is over.',
  413: 'The body is too large.',
  429: 'The key that claimed the episode makes too many calls. Repeat the call later.',
  500: 'The model failed.',
  503: 'The server recovers, or the policy has stopped. Repeat the call.',
  507: 'The disk of the server is nearly full.',
};

const modelError: Json = {
  type: 'object',
  description: "An error in the form of OpenAI's or Anthropic's API.",
  properties: {
    type: { type: 'string', description: '`error`, in the form of Anthropic.' },
    error: {
      type: 'object',
      description: 'The error.',
      properties: {
        message: { type: 'string', description: 'What is wrong, and the repair.' },
        type: { type: 'string', description: 'The kind of error.' },
        code: { type: ['string', 'null'], description: 'The code of the error, in the form of OpenAI.' },
        param: { type: ['string', 'null'], description: 'The parameter that is refused, in the form of OpenAI.' },
      },
      required: ['message'],
    },
  },
  required: ['error'],
};

type Place = 'path' | 'query' | 'header';

/** Describes each field of an object as a parameter. */
function fieldsOf(place: Place, object: z.ZodObject | undefined): readonly Json[] {
  return Object.entries(object?.shape ?? {}).map(([name, schema]) =>
    toParameter(place, name, {
      schema: schema as z.ZodType,
      isRequired: !(schema as z.ZodType).safeParse(undefined).success,
    }),
  );
}

function toParameter(
  place: Place,
  name: string,
  { schema, isRequired }: { schema: z.ZodType; isRequired: boolean },
): Json {
  const { description, ...rest } = toSchema(schema, 'input');
  const isNumber = rest['pattern'] === String.raw`^\d{1,15}$`;
  return {
    name,
    in: place,
    required: isRequired,
    description,
    schema: isNumber ? { type: 'integer', minimum: 0 } : rest,
  };
}

/** Converts a schema to JSON Schema. A field without a description gets the meaning of its name. */
function toSchema(schema: z.ZodType, io: 'input' | 'output' = 'output'): Json {
  const { $schema: _schema, ...rest } = z.toJSONSchema(schema, { io });
  return withMeanings(rest) as Json;
}

function withMeanings(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withMeanings);
  if (typeof node !== 'object' || node === null) return node;
  const entries = Object.entries(node).map(([key, value]) => {
    if (key !== 'properties') return [key, withMeanings(value)] as const;
    const fields = Object.entries(value as Readonly<Record<string, Json>>).map(([name, field]) => {
      const description = field['description'] ?? fieldMeanings[name];
      return [name, { ...(withMeanings(field) as Json), ...(description !== undefined && { description }) }] as const;
    });
    return [key, Object.fromEntries(fields)] as const;
  });
  return Object.fromEntries(entries);
}

/** Converts `post /episodes/{id}/end` to `postEpisodesEnd`, and `get /episodes/{id}` to `getEpisodesById`. */
function toOperationId(method: string, path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== 'v1');
  const words = parts.flatMap((part, index) => {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined) return part.split(/[._-]/);
    return index === parts.length - 1 ? ['by', name] : [];
  });
  return method + words.map((word) => `${word[0]?.toUpperCase() ?? ''}${word.slice(1)}`).join('');
}

const refTo = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

const json = (schema: unknown): Json => ({ 'application/json': { schema } });
