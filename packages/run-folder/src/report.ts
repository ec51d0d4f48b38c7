import { formatChange, formatRate } from '@agentjet/core/success';
import type { EpisodeRecord } from './episode-record.js';
import { escapeXml, renderLineChart, type Series } from './line-chart.js';
import type { MetricsRecord } from './metrics-record.js';
import { pointsOf, renderRewardCurve } from './reward-curve.js';

export type Report = {
  readonly name: string;
  readonly dir: string;
  readonly metrics: readonly MetricsRecord[];
  readonly evaluations: readonly MetricsRecord[];
  /** Content of config.yaml. */
  readonly config: string;
  readonly episodes: readonly EpisodeRecord[];
};

const colors = ['#0969da', '#1a7f37', '#bc4c00', '#8250df'];

/** The charts: each has a title and the metrics that it draws. */
const charts: readonly (readonly [string, readonly string[]])[] = [
  ['Loss', ['loss']],
  ['Gradient norm, before clipping', ['grad_norm']],
  ['Entropy, nats per token', ['entropy']],
  ['Largest gap between sampling and training logprob', ['logprob_gap_max']],
  ['KL to the initial model', ['kl']],
  ['Tokens of a step', ['row_tokens', 'tree_tokens', 'trained_tokens']],
  ['Seconds of a step', ['seconds_sampling', 'seconds_training']],
  ['Failed episodes, skipped groups', ['failed_episodes', 'groups_skipped']],
  ['Histories that agents rewrote', ['forks', 'splices', 'foreign_messages']],
];

const columns = [
  'step',
  'policy_version',
  'reward_mean',
  'success_rate',
  'episodes',
  'failed_episodes',
  'generated_tokens',
  'trained_tokens',
  'row_tokens',
  'tree_tokens',
  'loss',
  'grad_norm',
  'entropy',
  'kl',
  'logprob_gap_max',
  'seconds_sampling',
  'seconds_training',
];

const style = `
body { font: 14px/1.5 system-ui, sans-serif; color: #1f2328; max-width: 1180px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2.5rem; }
.path, .faint { color: #59636e; } .charts { display: flex; flex-wrap: wrap; gap: 12px; } svg { max-width: 100%; height: auto; border: 1px solid #d1d9e0; border-radius: 6px; }
.numbers { display: flex; flex-wrap: wrap; gap: 2rem; margin: 1rem 0; } .numbers b { display: block; font-size: 1.4rem; }
.scroll { overflow: auto; max-height: 26rem; border: 1px solid #d1d9e0; border-radius: 6px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 12px; } th, td { padding: 3px 9px; text-align: right; white-space: nowrap; } th { position: sticky; top: 0; background: #f6f8fa; }
pre { background: #f6f8fa; padding: 1rem; border-radius: 6px; overflow: auto; max-height: 26rem; } pre.wrapped { white-space: pre-wrap; }`;

const ofAnUpdate = new Set(['loss', 'grad_norm', 'entropy', 'kl', 'logprob_gap_max']);

/** Removes the entropy of a step that trained nothing. Such a step has no entropy, not an entropy of 0. */
function withoutUnmeasured(record: MetricsRecord): MetricsRecord {
  if (record['trained_tokens'] !== 0) return record;
  return { step: record.step, ...Object.fromEntries(Object.entries(record).filter(([key]) => !ofAnUpdate.has(key))) };
}

/** Renders report.html, one page that needs no server, no script and no network. */
export function renderReport(given: Report): string {
  const report = { ...given, metrics: given.metrics.map(withoutUnmeasured) };
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeXml(report.name)}</title><style>${style}</style></head><body>`,
    `<h1>${escapeXml(report.name)}</h1><div class="path">${escapeXml(report.dir)}</div>`,
    renderNumbers(report),
    renderRewardCurve(report.metrics, report.evaluations),
    `<h2>Curves</h2><div class="charts">${charts.map(([title, keys]) => renderMetricsChart(title, keys, report.metrics)).join('')}</div>`,
    `<h2>Steps</h2>${renderTable(report.metrics)}`,
    `<h2>Episodes</h2>${report.episodes.length === 0 ? '<p class="faint">None recorded.</p>' : report.episodes.map(renderEpisode).join('')}`,
    `<h2>Configuration</h2><pre>${escapeXml(report.config)}</pre>`,
    '</body></html>',
    '',
  ].join('\n');
}

function renderNumbers({ metrics, evaluations }: Report): string {
  const sum = (key: string) => metrics.reduce((total, record) => total + (record[key] ?? 0), 0);
  const last = metrics.at(-1);
  const numbers: [string, string][] = [
    ['steps', String(last?.step ?? 0)],
    ['reward, last step', formatNumber(last?.['reward_mean'])],
    ['success before', formatSuccess(evaluations[0])],
    ['success, last evaluation', formatSuccess(evaluations.at(-1))],
    ...formatChangeOf(evaluations.at(-1)),
    ['seconds sampling', formatNumber(sum('seconds_sampling'))],
    ['seconds training', formatNumber(sum('seconds_training'))],
    ['row tokens per tree token', formatNumber(sum('row_tokens') / sum('tree_tokens'))],
  ];
  return `<div class="numbers">${numbers.map(([name, value]) => `<div><b>${value}</b>${name}</div>`).join('')}</div>`;
}

function renderMetricsChart(title: string, keys: readonly string[], metrics: readonly MetricsRecord[]): string {
  const series: Series[] = keys.map((key, index) => ({
    name: key,
    points: pointsOf(metrics, key),
    color: colors[index % colors.length] ?? '#1f2328',
  }));
  if (series.every(({ points }) => points.every(({ y }) => y === 0))) return '';
  return renderLineChart({ title, xLabel: 'step', series, width: 560, height: 280 });
}

/** Renders the table of steps. For a long run it shows only every nth step, so that the page stays small. */
function renderTable(metrics: readonly MetricsRecord[]): string {
  const stride = Math.ceil(metrics.length / 500);
  const rows = metrics.filter((_, index) => index % stride === 0 || index === metrics.length - 1);
  const body = rows.map(
    (record) => `<tr>${columns.map((column) => `<td>${formatNumber(record[column])}</td>`).join('')}</tr>`,
  );
  return `<div class="scroll"><table><thead><tr>${columns.map((column) => `<th>${column}</th>`).join('')}</tr></thead><tbody>${body.join('')}</tbody></table></div>`;
}

function renderEpisode(episode: EpisodeRecord): string {
  const { episode_id: id, samples, ...rest } = episode;
  const tokens = samples.reduce((sum, { ids }) => sum + ids.length, 0);
  const trained = samples.reduce((sum, sample) => sum + sample.loss_mask.reduce((ones, mask) => ones + mask, 0), 0);
  const summary = `${escapeXml(id)} <span class="faint">step ${formatNumber(rest['step'])}, reward ${formatNumber(rest['reward'])}, ${samples.length} samples, ${tokens} tokens, ${trained} trained</span>`;
  return `<details><summary>${summary}</summary><pre class="wrapped">${escapeXml(JSON.stringify(rest, undefined, 2))}</pre></details>`;
}

function formatSuccess(record: MetricsRecord | undefined): string {
  const { success_rate: rate, success_low: low, success_high: high } = record ?? ({ step: 0 } as MetricsRecord);
  return rate === undefined || low === undefined || high === undefined
    ? formatNumber(rate)
    : formatRate(rate, { low, high });
}

function formatChangeOf(record: MetricsRecord | undefined): readonly [string, string][] {
  const change = record ?? ({ step: 0 } as MetricsRecord);
  const { success_change: difference, success_change_low: low, success_change_high: high } = change;
  if (difference === undefined || low === undefined || high === undefined) return [];
  return [['change on the same tasks', formatChange({ difference, low, high })]];
}

function formatNumber(value: unknown): string {
  if (typeof value !== 'number' || !Number.isFinite(value)) return '–';
  return Number.isInteger(value) ? String(value) : value.toPrecision(4);
}
