import { ConfigError, setting, z } from '@agentjet/core';
import { defineEnvironment } from '@agentjet/rollout/inputs';

const name = z.string().min(1);

export const mcp = defineEnvironment({
  name: 'mcp',
  summary: 'a Model Context Protocol server, whose tools become tools of the agent',
  section: z.strictObject({
    url: setting(name.nullable(), null, 'address of a server with Streamable HTTP, such as http://127.0.0.1:3000/mcp'),
    command: setting(
      name.nullable(),
      null,
      'a program that serves MCP over stdio, instead of url; each session is a process',
    ),
    args: setting(z.array(z.string()), [], 'arguments of that program'),
    env: setting(z.array(name), [], 'environment variables of that program, by name, in addition to PATH and HOME'),
    token: setting(name.nullable(), null, 'name of the environment variable with a bearer token for url'),
    open_tool: setting(
      name.nullable(),
      null,
      'tool that gets task_id, question, seed and metadata; its text is the first observation',
    ),
    evaluate_tool: setting(name.nullable(), null, 'tool that scores the episode: a number, or {"reward", "isSuccess"}'),
    tools: setting(z.array(name).nullable(), null, 'tools that agents get; null: all but open_tool and evaluate_tool'),
  }),
  async open({ url, command, args, env, token, ...section }) {
    const [{ readAddress }, { openMcp }] = await Promise.all([
      import('../http/read-address.js'),
      import('./mcp-environment.js'),
    ]);
    if ((url === null) === (command === null))
      throw new ConfigError('bad_address', 'Set one of environment.mcp.url and environment.mcp.command.');
    if (command === null) {
      const address = readAddress(url, 'environment.mcp.url', 'http://127.0.0.1:3000/mcp');
      return openMcp({ ...section, url: address, headers: readToken(token) });
    }
    return openMcp({ ...section, command, args, cwd: null, env: readVariables(['PATH', 'HOME', ...env]) });
  },
});

function readToken(name: string | null): Readonly<Record<string, string>> {
  if (name === null) return {};
  const token = process.env[name];
  if (token !== undefined && token !== '') return { authorization: `Bearer ${token}` };
  throw new ConfigError('no_key', `environment.mcp.token names the environment variable ${name}, which is not set.`);
}

function readVariables(names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((each) => (process.env[each] === undefined ? [] : [[each, process.env[each]]])),
  );
}
