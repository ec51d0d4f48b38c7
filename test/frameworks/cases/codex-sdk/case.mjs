// #region page
import { Codex } from '@openai/codex-sdk';
// #endregion
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { callText, replyWith } from './check.mjs';

export function open({ tuner, tool }) {
  const home = path.resolve('codex', tuner.episodeId);
  const work = path.join(home, 'work');
  mkdirSync(work, { recursive: true });
  cpSync('add.mjs', path.join(work, 'add.mjs'));
  const { PATH } = process.env;
  // #region page
  const { baseUrl, apiKey, model } = tuner.asOpenAIEndpoint({ agentName: 'solver' });
  const provider = { name: 'ajet', base_url: baseUrl, env_key: 'AJET_KEY', wire_api: 'responses' };
  const codex = new Codex({
    env: { PATH, HOME: home, CODEX_HOME: home, AJET_KEY: apiKey },
    config: { model_provider: 'ajet', model_providers: { ajet: provider } },
  });
  const thread = codex.startThread({
    model,
    workingDirectory: work,
    skipGitRepoCheck: true,
    sandboxMode: 'danger-full-access',
  });
  // #endregion
  return {
    ask: async (question) => (await thread.run(question)).finalResponse,
    close: () => {
      const lines = readFileSync(path.join(work, 'sums.jsonl'), 'utf8').trim().split('\n');
      for (const line of lines) tool.run(JSON.parse(line));
    },
  };
}

/** The SDK gives whole items of a turn, and no pieces of text. */
export const isStreaming = false;

export const reply = replyWith([
  callText('exec_command', '{ "cmd":"node add.mjs 2 3"}'),
  `<think>\nFive and four.\n</think>\n\n${callText('exec_command', '{"cmd":  "node add.mjs 5 4"}')}`,
]);
