import { readFileSync } from 'node:fs';
import type { TurnDescription } from '@agentjet/context-tracker';
import type { InspectedEpisode } from '../episode/read-episode.js';
import { callColumns, logprobsOf } from '../facts/call-facts.js';
import { describeEpisode, type Fact } from '../facts/episode-facts.js';
import { forkReasons } from '@agentjet/context-tracker';
import { escapeHtml } from './html-text.js';
import { PageBranches } from './page-branches.js';

/** Forbids the page to load anything. */
const policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/** Renders an episode as one self-contained page. */
export function renderPage(episode: InspectedEpisode): string {
  const title = escapeHtml(episode.record.episode_id);
  const branches = new PageBranches(episode);
  const data = { turns: episode.tree.turns.map((turn) => toTurnData(episode, turn)), branches: branches.data };
  return [
    '<!doctype html>',
    `<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta http-equiv="Content-Security-Policy" content="${policy}">`,
    `<title>${title}</title><style>${readAsset('inspect.css')}</style></head><body><main>`,
    `<h1>${title}</h1>`,
    renderFacts(describeEpisode(episode)),
    `<h2>Calls</h2>${renderCalls(episode)}`,
    '<h2>Token tree <button data-open="true">open all</button> <button data-open="false">close all</button></h2>',
    '<p>The tree shows every token once. Green tokens were sampled and trained; likelier ones are brighter. Click a token, a call or an agent. The arrow keys move to the next token.</p>',
    ...branches.html,
    '</main><aside><div id="panel"><p>Click a token or a call.</p></div></aside>',
    `<script type="application/json" id="data">${JSON.stringify(data).replaceAll('<', '\\u003c')}</script>`,
    `<script>${readAsset('inspect.js')}</script></body></html>`,
    '',
  ].join('\n');
}

function readAsset(name: string): string {
  return readFileSync(new URL(`../../page/${name}`, import.meta.url), 'utf8');
}

function renderFacts(facts: readonly Fact[]): string {
  return `<dl>${facts.map(([label, value]) => `<dt>${escapeHtml(label)}</dt><dd>${escapeHtml(value)}</dd>`).join('')}</dl>`;
}

function renderCalls(episode: InspectedEpisode): string {
  const columns = callColumns(episode);
  const cell = (tag: string, text: string, isText: boolean | undefined): string =>
    `<${tag}${isText ? ' class="text"' : ''}>${escapeHtml(text)}</${tag}>`;
  const head = columns.map(({ title, isText }) => cell('th', title, isText)).join('');
  const rows = episode.tree.turns.map(
    (turn) =>
      `<tr data-turn="${turn.index}">${columns.map(({ valueOf, isText }) => cell('td', valueOf(turn), isText)).join('')}</tr>`,
  );
  return `<div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

/** The data of a call and of each token that it sampled. */
function toTurnData({ record: { samples } }: InspectedEpisode, turn: TurnDescription) {
  const { promptTokens, generatedTokens, sample } = turn;
  const advantages = samples[sample ?? -1]?.advantages.slice(promptTokens, promptTokens + generatedTokens) ?? [];
  const isSame = advantages.every((advantage) => advantage === advantages[0]);
  return {
    facts: toTurnFacts(turn),
    promptTokens,
    logprobs: logprobsOf(samples, turn),
    advantages: isSame ? advantages[0] : advantages,
  };
}

function toTurnFacts(turn: TurnDescription): readonly Fact[] {
  const {
    turnId,
    agentName,
    targetTag,
    policyVersion,
    promptTokens,
    reusedTokens,
    generatedTokens,
    isTruncated,
    fork,
    sample,
    splices,
    foreignMessages,
  } = turn;
  const foreign = Object.entries(foreignMessages).map(([cause, count]) => `${cause} ${count}`);
  return [
    ['agent', agentName],
    ['trained as', targetTag],
    ['policy version', String(policyVersion)],
    ['prompt', `${promptTokens} tokens, ${reusedTokens} of them reused`],
    ['generated', `${generatedTokens} tokens${isTruncated ? ', cut by a limit or a stop string' : ''}`],
    ['forked', fork === null ? 'no' : `${fork}: ${forkReasons[fork]}`],
    [
      'spliced',
      splices.length === 0
        ? 'nothing'
        : splices
            .map(({ turn: other, cause }) => `the answer of call #${other}, recognised by ${cause.replace('_', ' ')}`)
            .join('; '),
    ],
    ['foreign messages', foreign.length === 0 ? 'none' : foreign.join(', ')],
    ['row', sample === null ? 'none: it sampled nothing' : String(sample)],
    ['turn', turnId],
  ];
}
