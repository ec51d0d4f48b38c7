/**
 * The process that is attacked. It carries out the parent's commands in turn, and answers with the outcome. The parent
 * notices a hang from outside.
 */
import { AgentJetError, AgentJetJob } from 'agentjet';
import { findChanges, formatEpisodeList, formatTokens, inspectEpisode, summarizeEpisodes } from '@agentjet/inspect';

export type Command =
  | { readonly kind: 'resume'; readonly folder: string; readonly overrides: readonly string[] }
  | { readonly kind: 'evaluate'; readonly folder: string; readonly checkpoint: string }
  | { readonly kind: 'inspect'; readonly run: string; readonly episode: string | null }
  | { readonly kind: 'configure'; readonly file: string };

/** `stack` is null for an error in words that a person can read. */
export type Answer =
  | { readonly ok: true; readonly value: unknown; readonly notices: readonly string[] }
  | { readonly ok: false; readonly message: string; readonly stack: string | null };

async function carryOut(command: Command, onNotice: (message: string) => void): Promise<unknown> {
  const onEvent = (event: { readonly type: string; readonly message?: unknown }): void => {
    if (event.type === 'notice') onNotice(String(event.message));
  };
  switch (command.kind) {
    case 'resume': {
      process.chdir(command.folder);
      const job = new AgentJetJob().loadJobFromYaml('job.yaml', command.overrides);
      const { policyVersion, successAfter } = await job.tune({ resume: true, onEvent });
      return { policyVersion, successAfter };
    }
    case 'evaluate': {
      process.chdir(command.folder);
      const job = new AgentJetJob().loadJobFromYaml('job.yaml');
      const evaluation = await job.evaluate({ checkpoint: command.checkpoint, onEvent });
      return [evaluation?.successRate, evaluation?.rewardMean, evaluation?.episodes, evaluation?.failedEpisodes];
    }
    case 'inspect': {
      (await findChanges(command.run)).forEach(onNotice);
      if (command.episode !== null)
        return [...formatTokens(await inspectEpisode(command.run, command.episode))].join('\n');
      const lines: string[] = [];
      for await (const line of formatEpisodeList(summarizeEpisodes(command.run))) lines.push(line);
      return lines.join('\n');
    }
    case 'configure':
      new AgentJetJob().loadJobFromYaml(command.file);
      if (Object.keys(Object.prototype).length > 0) throw new Error('Object.prototype has got keys.');
      return null;
  }
}

async function answer(command: Command): Promise<Answer> {
  const notices: string[] = [];
  try {
    const value = await carryOut(command, (message) => notices.push(message));
    return { ok: true, value, notices };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const stack = error instanceof Error ? (error.stack ?? message) : message;
    return { ok: false, message, stack: error instanceof AgentJetError ? null : stack };
  }
}

process.on('message', (command: Command) => void answer(command).then((answered) => process.send?.(answered)));
process.send?.('ready');
