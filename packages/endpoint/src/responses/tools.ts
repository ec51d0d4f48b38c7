import { customFields, functionFields, toCustomSpec, toToolSpec, ApiError } from '@agentjet/chat-completions';
import { isJsonObject, type ToolSpec } from '@agentjet/core';
import { isServerTool } from '@agentjet/core/parameters';
import { z } from 'zod';

const functionTool = z.looseObject({ type: z.literal('function'), ...functionFields });
const customTool = z.looseObject({ type: z.literal('custom'), ...customFields });
const namespaceTool = z.looseObject({
  type: z.literal('namespace'),
  name: z.string(),
  tools: z.array(z.looseObject({ type: z.string() })),
});

/** The name of a function in requests and answers. It may belong to a namespace, for example in requests of Codex. */
export type WireName = {
  readonly name: string;
  readonly namespace?: string | undefined;
  /** True for a custom tool. Its calls contain plain text. */
  readonly isCustom?: true;
};

/** The functions of a request as the model sees them. The model has no namespaces, so each function has one name. */
export interface ResponseTools {
  readonly specs: readonly ToolSpec[];
  toShownName(wire: WireName): string;
  toWireName(shown: string): WireName;
}

type Named = { readonly wire: WireName; readonly shown: string; readonly spec: ToolSpec };

/**
 * Reads the tools of a request. If a tool is repeated, the last one is used. Throws ApiError 400 for a tool that is not
 * a function, a custom tool or a tool that a server runs.
 */
export function readTools(tools: readonly { readonly type: string }[]): ResponseTools {
  const all = tools.flatMap((tool) => readFunctions(tool));
  const functions = [...new Map(all.map((one) => [JSON.stringify([one.wire.namespace, one.wire.name]), one])).values()];
  const countOf = (name: string): number => functions.filter(({ wire }) => wire.name === name).length;
  const named = functions.map(({ wire, spec }): Named => {
    const isUnique = wire.namespace === undefined || countOf(wire.name) === 1;
    const shown = isUnique ? wire.name : `${wire.namespace}_${wire.name}`;
    return { wire, shown, spec: { ...spec, name: shown } };
  });
  return {
    specs: named.map(({ spec }) => spec),
    toShownName: ({ name, namespace }) =>
      named.find(({ wire }) => wire.name === name && wire.namespace === namespace)?.shown ?? name,
    toWireName: (name) => named.find(({ shown }) => shown === name)?.wire ?? { name },
  };
}

function readFunctions(tool: { readonly type: string }, namespace?: string): readonly Omit<Named, 'shown'>[] {
  if (isServerTool('responses', tool.type)) return [];
  const group = namespaceTool.safeParse(tool);
  if (group.success && namespace === undefined)
    return group.data.tools.flatMap((inner) => readFunctions(inner, group.data.name));
  const parsed = functionTool.safeParse(tool);
  if (parsed.success) return [{ wire: { name: parsed.data.name, namespace }, spec: toToolSpec(parsed.data) }];
  const custom = customTool.safeParse(tool);
  if (custom.success)
    return [{ wire: { name: custom.data.name, namespace, isCustom: true }, spec: toCustomSpec(custom.data) }];
  throw new ApiError(
    400,
    'unsupported_tool',
    `Tools of type '${tool.type}' are not supported. Only functions and custom tools are supported, because the agent runs them itself.`,
    'tools',
  );
}

/**
 * Returns the body with all its tools in one list, including those in namespaces and among the items. The parameter
 * check reads this list.
 */
export function gatherTools(body: unknown): unknown {
  if (!isJsonObject(body)) return body;
  const added = toList(body['input']).flatMap((item) =>
    isJsonObject(item) && item['type'] === 'additional_tools' ? toList(item['tools']) : [],
  );
  const tools = [...toList(body['tools']), ...added].flatMap((tool) =>
    isJsonObject(tool) && tool['type'] === 'namespace' ? toList(tool['tools']) : [tool],
  );
  return { ...body, tools };
}

const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
