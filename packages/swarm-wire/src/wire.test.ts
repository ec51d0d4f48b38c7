import { describe, expect, it } from 'vitest';
import { claimRequestSchema, endRequestSchema, sharesRequestSchema, tasksRequestSchema } from './index.js';
import { errorCodes, errorSchema, WireError } from './error-codes.js';
import { createOpenApi } from './open-api.js';
import { parseRequest } from './parse-request.js';
import { routes } from './routes.js';

describe('requests', () => {
  it('get their defaults', () => {
    expect(parseRequest(claimRequestSchema, { claim_id: 'c', client: 'me', life: 'l' })).toEqual({
      claim_id: 'c',
      client: 'me',
      life: 'l',
      can: ['default'],
      count: 1,
      purpose: 'any',
      revision: '',
      lease_seconds: 120,
      wait_seconds: 0,
    });
  });

  it.each([
    [
      'a reward that is a string',
      { client: 'me', status: 'completed', reward: '1' },
      /"reward" .*expected number.* Got "1"/,
    ],
    ['an infinite reward', { client: 'me', status: 'completed', reward: Infinity }, /"reward"/],
    ['a reward that is not a number', { client: 'me', status: 'completed', reward: Number.NaN }, /"reward"/],
    ['an unknown status', { client: 'me', status: 'done' }, /"status" .* Got "done"/],
    ['an unknown field', { client: 'me', status: 'completed', rewrad: 1 }, /rewrad/],
    ['a missing field', { status: 'completed' }, /"client" .* Got nothing/],
    ['a list for a body', [], /The body is invalid/],
  ])('refuse %s and show it', (_what, body, message) => {
    expect(() => parseRequest(endRequestSchema, body)).toThrow(message);
    expect(() => parseRequest(endRequestSchema, body)).toThrow(
      expect.objectContaining({ code: 'invalid_request', status: 400 }),
    );
  });

  it.each(['c#1', 'c#12', '#0', 'a\nb#1'])('take no claim id such as %j, which the server makes itself', (claim_id) => {
    const claim = { claim_id, client: 'me', life: 'l' };
    expect(() => parseRequest(claimRequestSchema, claim)).toThrow(/"claim_id" .*does not end in # and a number/);
  });

  it.each(['c#', 'c#1a', 'c1', '#1.life'])('take the claim id %j', (claim_id) => {
    expect(parseRequest(claimRequestSchema, { claim_id, client: 'me', life: 'l' })).toMatchObject({ claim_id });
  });

  it('take at most 1,000 tasks', () => {
    const tasks = Array.from({ length: 1001 }, (_none, index) => ({ task_id: `t${index}`, index, hash: 'h' }));
    expect(() => parseRequest(tasksRequestSchema, { tasks })).toThrow(/"tasks"/);
    expect(parseRequest(tasksRequestSchema, { tasks: tasks.slice(1) }).tasks).toHaveLength(1000);
  });

  it.each(['constructor', 'toString', '../x', ''])('take no share that is named %j', (name) => {
    expect(() => parseRequest(sharesRequestSchema, { [name]: 1 })).toThrow(/is invalid/);
  });
});

describe('errors', () => {
  it('have a code of the closed list, on the wire too', () => {
    for (const code of errorCodes) {
      const { status, toBody } = new WireError(code, 'why');
      expect(status).toBeGreaterThanOrEqual(400);
      expect(errorSchema.safeParse(toBody.call(new WireError(code, 'why', { retryAfterMs: 5 }))).success).toBe(true);
    }
    expect(errorSchema.safeParse({ error: { code: 'oops', message: '' } }).success).toBe(false);
  });
});

describe('the OpenAPI document', () => {
  it('has every route with its request, answers and role', () => {
    const { paths } = createOpenApi() as { paths: Record<string, Record<string, Record<string, unknown>>> };
    for (const { method, path, role } of routes) {
      expect(paths[`/swarm/v1${path}`]?.[method]?.['x-ajet-role']).toBe(role);
    }
    const claim = paths['/swarm/v1/episodes']?.['post'];
    expect(claim).toMatchObject({
      requestBody: { content: { 'application/json': { schema: { required: ['claim_id', 'client', 'life'] } } } },
      responses: { 201: { content: { 'application/json': { schema: { type: 'object' } } } } },
    });
  });

  it('names each route once', () => {
    const names = routes.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(names).size).toBe(names.length);
  });
});
