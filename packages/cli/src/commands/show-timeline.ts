import type { RunEpisode } from 'agentjet';

/** One token of a sample: what it says, whether the model wrote it and learns from it, and how likely it was. */
type Token = { readonly text: string; readonly isTrained: boolean; readonly logprob: number };
type Timeline = { readonly title: string; readonly tokens: readonly Token[] };

export type Decode = (id: number) => string;

function toTimelines(episode: RunEpisode, decode: Decode): readonly Timeline[] {
  return episode.samples.map((sample, index) => {
    const tokens = sample.ids.map((id, at) => ({ text: decode(id), isTrained: sample.loss_mask[at] === 1, logprob: sample.logprobs[at] ?? 0 }));
    const numTrained = tokens.filter(({ isTrained }) => isTrained).length;
    const title = `sample ${index + 1} of ${episode.samples.length}: ${sample.agent_name} (${sample.target_tag}), ${tokens.length} tokens, ${numTrained} trained`;
    return { title, tokens };
  });
}

/** Trained tokens are green, the brighter the likelier; everything else is dim. */
function colour({ text, isTrained, logprob }: Token): string {
  if (!isTrained) return `\u001b[2m${text}\u001b[0m`;
  const green = Math.round(95 + 160 * Math.exp(logprob));
  return `\u001b[38;2;60;${green};90m${text}\u001b[0m`;
}

/** Without colours: what the model wrote stands between brackets, with the sum of its logprobs. */
function plain(tokens: readonly Token[]): string {
  let out = '';
  tokens.forEach((token, at) => {
    const before = tokens[at - 1]?.isTrained === true;
    if (token.isTrained && !before) out += '⟦';
    out += token.text;
    if (token.isTrained && tokens[at + 1]?.isTrained !== true) out += `⟧(${sumOfSpan(tokens, at).toFixed(2)})`;
  });
  return out;
}

function sumOfSpan(tokens: readonly Token[], end: number): number {
  let sum = 0;
  for (let at = end; tokens[at]?.isTrained === true; at--) sum += tokens[at]?.logprob ?? 0;
  return sum;
}

export function formatTimelines(episode: RunEpisode, decode: Decode, options: { readonly colours: boolean }): string {
  return toTimelines(episode, decode)
    .map(({ title, tokens }) => `${title}\n${options.colours ? tokens.map(colour).join('') : plain(tokens)}`)
    .join('\n\n');
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (char) => escapes[char] ?? char);

/** One self-contained page; each trained token says its logprob when pointed at. */
export function renderTimelines(episode: RunEpisode, decode: Decode): string {
  const spans = ({ text, isTrained, logprob }: Token): string =>
    isTrained ? `<b style="opacity:${(0.35 + 0.65 * Math.exp(logprob)).toFixed(2)}" title="logprob ${logprob.toFixed(4)}">${escapeHtml(text)}</b>` : escapeHtml(text);
  const sections = toTimelines(episode, decode).map(({ title, tokens }) => `<details open><summary>${escapeHtml(title)}</summary><pre>${tokens.map(spans).join('')}</pre></details>`);
  const style = 'body{font:14px system-ui;margin:2em}pre{white-space:pre-wrap;color:#666}b{color:#0a7a3c;background:#e6f6ec}';
  return `<!doctype html><meta charset="utf-8"><title>${escapeHtml(episode.episode_id)}</title><style>${style}</style><h1>${escapeHtml(episode.episode_id)}</h1>${sections.join('\n')}\n`;
}
