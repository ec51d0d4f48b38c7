import { setting, z } from '@agentjet/core';
import { defineEnvironment } from '@agentjet/rollout/inputs';

export const agentjet = defineEnvironment({
  name: 'agentjet',
  summary: "the Python AgentJet's environment service",
  section: z.strictObject({
    url: setting(z.string().min(1).nullable(), null, 'such as http://127.0.0.1:8080'),
    env_type: setting(z.string().min(1), 'appworld', "the server's name for the environment"),
    params: setting(z.record(z.string(), z.unknown()), {}, 'sent to the environment when a session opens'),
    evaluate_params: setting(
      z.record(z.string(), z.unknown()),
      { sparse: false },
      "sent when a session is scored; sparse: false asks for partial credit, as the original's judge does",
    ),
  }),
  async open({ url, ...section }) {
    const [{ readAddress }, { openAgentjet }] = await Promise.all([
      import('../http/read-address.js'),
      import('./agentjet-environment.js'),
    ]);
    return openAgentjet({
      url: readAddress(url, 'environment.agentjet.url', 'http://127.0.0.1:8080'),
      ...section,
    });
  },
});
