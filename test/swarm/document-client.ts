import { z } from 'zod';

type Json = Readonly<Record<string, unknown>>;
type Parameter = { readonly name: string; readonly in: string; readonly required?: boolean; readonly schema: Json };
type Operation = {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
};
type Content = Readonly<Record<string, { readonly schema: Json }>>;

export type ApiDocument = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
};

type Sent = { readonly params?: Readonly<Record<string, string>>; readonly body?: unknown; readonly key?: string };

/** A client that knows a server only from its OpenAPI document. It checks its requests and the answers. */
export class DocumentClient {
  readonly #document: ApiDocument;
  readonly #url: string;

  constructor(document: ApiDocument, url: string) {
    this.#document = document;
    this.#url = url;
  }

  /** Throws for an unknown operation or parameter, and for a request or an answer that its schema does not allow. */
  async call(operationId: string, { params = {}, body, key }: Sent = {}): Promise<{ status: number; body: Json }> {
    const { path, method, operation } = this.#find(operationId);
    const headers: Record<string, string> = {};
    const query = new URLSearchParams();
    let address = path;
    const left = new Set(Object.keys(params));
    for (const { name, in: place, required = false, schema } of operation.parameters) {
      const value = params[name];
      left.delete(name);
      if (value === undefined && required) throw new Error(`${operationId} needs the parameter ${name}.`);
      if (value === undefined) continue;
      this.#check(schema, schema['type'] === 'integer' ? Number(value) : value);
      if (place === 'path') address = address.replace(`{${name}}`, encodeURIComponent(value));
      else if (place === 'query') query.set(name, value);
      else headers[name] = value;
    }
    if (left.size > 0) throw new Error(`${operationId} has no parameter ${[...left].join(', ')}.`);
    if ((operation.security ?? []).length > 0) headers['authorization'] = `Bearer ${key}`;
    if (body !== undefined) {
      const schema = operation.requestBody?.content['application/json']?.schema;
      if (schema === undefined) throw new Error(`${operationId} has no body.`);
      this.#check(schema, body);
      headers['content-type'] = 'application/json';
    }
    const question = query.size > 0 ? `?${query.toString()}` : '';
    const response = await fetch(`${this.#url}${address}${question}`, {
      method: method.toUpperCase(),
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = operation.responses[response.status];
    if (answer === undefined) throw new Error(`${operationId} answered ${response.status}, which is not described.`);
    const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? '';
    const described = Object.entries(answer.content ?? {}).find(([name]) => name.startsWith(type));
    if (described === undefined) throw new Error(`${operationId} answered with ${type}, which is not described.`);
    if (type !== 'application/json') return { status: response.status, body: { text: await response.text() } };
    const found = (await response.json()) as Json;
    this.#check(described[1].schema, found);
    return { status: response.status, body: found };
  }

  #find(operationId: string): { path: string; method: string; operation: Operation } {
    for (const [path, methods] of Object.entries(this.#document.paths))
      for (const [method, operation] of Object.entries(methods))
        if (operation.operationId === operationId) return { path, method, operation };
    throw new Error(`There is no operation ${operationId}.`);
  }

  #check(schema: Json, value: unknown): void {
    z.fromJSONSchema(this.#resolve(schema) as Parameters<typeof z.fromJSONSchema>[0]).parse(value);
  }

  /** Replaces references by the schemas that they name. */
  #resolve(node: unknown): unknown {
    if (Array.isArray(node)) return node.map((each) => this.#resolve(each));
    if (typeof node !== 'object' || node === null) return node;
    const [, name] = /^#\/components\/schemas\/(\w+)$/.exec(String((node as Json)['$ref'])) ?? [];
    if (name !== undefined) return this.#resolve(this.#document.components.schemas[name]);
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, this.#resolve(value)]));
  }
}
