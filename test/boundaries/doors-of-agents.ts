import { workspaces } from '../../.ci/workspaces.mjs';

/** The packages that people import in agents. The others serve or start programs, and their types need @types/node. */
const packages = new Set(
  'agentjet @agentjet/core @agentjet/rollout @agentjet/swarm-client @agentjet/swarm-wire @agentjet/react @agentjet/openai @agentjet/langgraph @agentjet/anthropic @agentjet/data @agentjet/tokenizer @agentjet/nano @agentjet/micro @agentjet/model-client @agentjet/context-tracker @agentjet/trackers @agentjet/chat-completions @agentjet/traces @agentjet/generation'.split(
    ' ',
  ),
);

/** The entry points of these packages, with the source of each. Their types must not need @types/node. */
export const doorsOfAgents: readonly { readonly door: string; readonly source: string }[] = workspaces()
  .filter(({ name }) => packages.has(name))
  .flatMap(({ doors }) => Object.entries(doors).map(([door, source]) => ({ door, source })))
  .filter(({ door }) => !door.endsWith('/testing'));
