import { z } from 'zod';
import { errorSchema } from './error-codes.js';
import { trainingEventSchema } from './operations.js';
import { routes, type Route } from './routes.js';
import { wireVersion, wireVersionHeader } from './wire-version.js';

/** The contract as an OpenAPI 3.1 document, generated from the schemas that check requests. */
export function createOpenApi(): Readonly<Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = `/swarm/v1${route.path}`;
    paths[path] = { ...paths[path], [route.method]: describe(route) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'AgentJet swarm', version: wireVersion },
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: z.toJSONSchema(errorSchema), TrainingEvent: z.toJSONSchema(trainingEventSchema) },
    },
  };
}

function describe({ path, role, summary, request, answers, method }: Route): Readonly<Record<string, unknown>> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const parameters = [
    ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    { name: wireVersionHeader, in: 'header', required: false, schema: { const: wireVersion } },
  ];
  const hasBody = request !== undefined && method !== 'get';
  return {
    summary,
    ...(role !== undefined && { security: [{ key: [] }], 'x-ajet-role': role }),
    parameters,
    ...(hasBody && { requestBody: { required: true, content: json(z.toJSONSchema(request, { io: 'input' })) } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, schema]) => [status, describeAnswer(status, schema)]),
      ),
      default: { description: 'An error', content: json({ $ref: '#/components/schemas/Error' }) },
    },
  };
}

function describeAnswer(status: string, schema: z.ZodType | undefined): Readonly<Record<string, unknown>> {
  const description = status === '202' ? 'Accepted' : 'Done';
  return schema === undefined ? { description } : { description, content: json(z.toJSONSchema(schema)) };
}

const json = (schema: unknown): Readonly<Record<string, unknown>> => ({ 'application/json': { schema } });
