import { setting, z } from '@agentjet/core';
import { defineEnvironment } from '@agentjet/rollout/inputs';

const name = z.string().min(1);

export const openenv = defineEnvironment({
  name: 'openenv',
  summary: 'an OpenEnv server, over WebSocket',
  section: z.strictObject({
    url: setting(name.nullable(), null, 'such as http://127.0.0.1:8000'),
    env_type: setting(name.nullable(), null, "the server's name for the environment, for its list of tasks"),
    action_field: setting(name, 'message', "field of an action for the agent's text"),
    text_field: setting(name.nullable(), null, 'field of an observation that the agent sees; null: all, as JSON'),
    verdict: setting(z.enum(['sum', 'last']), 'sum', 'how the rewards of the steps become the verdict'),
    unrewarded: setting(
      z.enum(['error', 'zero']),
      'error',
      'an episode without any reward, while the server has given none so far: error (stops the run) | zero (counts as a reward of 0)',
    ),
    tools: setting(z.boolean(), false, 'true: the server offers tools through its MCP messages'),
  }),
  async open({ url, ...section }) {
    const [{ readAddress }, { openOpenenv }] = await Promise.all([
      import('../http/read-address.js'),
      import('./openenv-environment.js'),
    ]);
    return openOpenenv({ ...section, url: readAddress(url, 'environment.openenv.url', 'ws://127.0.0.1:8000') });
  },
});
