import { formatShare } from '@agentjet/core';
import stringWidth from 'string-width';
import { toOneLine } from '@agentjet/core/text';
import type { ClientsAnswer, EpisodesAnswer, ServerAnswer } from '@agentjet/swarm-client';
import { describeSince, formatAge } from './describe-server.js';

/** Renders the screen of `ajet swarm top` as lines. They fit a terminal of any width. */

export type TopView = 'summary' | 'clients' | 'episodes';

/** What the screen shows. */
export type TopState = {
  readonly address: string;
  readonly server: ServerAnswer;
  /** The seconds since the server gave this answer. They are added to all ages. */
  readonly elapsedSeconds: number;
  readonly nowMs: number;
  /** The rates of episodes and steps per minute, in words. */
  readonly rates: string;
  readonly view: TopView;
  readonly clients?: ClientsAnswer | undefined;
  readonly episodes?: EpisodesAnswer | undefined;
};

export type TopSize = { readonly columns: number; readonly rows: number };

/** Returns at most `rows` lines of at most `columns` columns. Says how many clients or episodes do not fit. */
export function renderTop(state: TopState, { columns, rows }: TopSize): readonly string[] {
  const keys = fit('keys: c clients, e episodes, s summary, q leave', columns);
  const head = [...renderHead(state, columns), ...renderProgress(state, columns)].map((line) => fit(line, columns));
  const table = toTable(state).map((line) => fit(line, columns));
  const space = Math.max(0, rows - head.length - 1);
  const shown = table.length > space ? table.slice(0, Math.max(0, space - 1)) : table;
  const hidden = table.length - shown.length;
  const more = hidden > 0 ? [fit(`and ${hidden} more`, columns)] : [];
  return [...head, ...shown, ...more, keys].slice(0, rows);
}

function renderHead({ address, server, elapsedSeconds }: TopState, columns: number): readonly string[] {
  const {
    run,
    uptime_seconds: up,
    state,
    step,
    version,
    clients,
    running,
    capacity,
    places,
    newest_step: newest,
  } = server;
  const age = newest?.age_seconds;
  const half = Math.max(20, Math.floor((columns - 2) / 2));
  return packFields(
    [
      ['run', fit(run ?? '-', half)],
      ['at', fit(address, half)],
      ['up', up === undefined ? '-' : formatAge(up + elapsedSeconds)],
      ['', state],
      ['step', String(step)],
      ['weights', String(version)],
      ['reward', newest === undefined ? '-' : newest.reward.toFixed(3)],
      ['success', newest?.success === undefined ? '-' : formatShare(newest.success)],
      ['last step', age === undefined ? '-' : `${formatAge(age + elapsedSeconds)} ago`],
      ['clients', clients === undefined ? '-' : String(clients)],
      ['episodes', `${running}/${capacity}`],
      ['places', places === undefined ? '-' : `${places.filled}/${places.total}`],
    ],
    columns,
  );
}

/** Renders the shares, and what the next step of each policy waits for. */
function renderProgress({ server, elapsedSeconds, nowMs, rates }: TopState, columns: number): readonly string[] {
  const { policies, waits_for: waits, problem, shares = {} } = server;
  const rows = policies === undefined ? [] : Object.entries(policies);
  const waitOf = (wait: typeof waits): readonly string[] =>
    wait === undefined
      ? []
      : [`${wait.text} ${describeSince({ ...wait, since_seconds: wait.since_seconds + elapsedSeconds }, nowMs)}`];
  const own = rows.flatMap(([name, policy]) => {
    const { state, step, newest_step: newest, places } = policy;
    const reward = newest === undefined ? '-' : newest.reward.toFixed(3);
    const filled = places === undefined ? '-' : `${places.filled}/${places.total}`;
    const fields = packFields(
      [
        ['policy', name],
        ['', state],
        ['step', String(step)],
        ['reward', reward],
        ['places', filled],
      ],
      columns,
    );
    return [...fields, ...waitOf(policy.waits_for).flatMap((text) => wrap(text, columns, '  '))];
  });
  const said = [
    ...(rows.length > 0 ? [] : waitOf(waits)),
    ...(problem === undefined || waits?.reason === 'failed' ? [] : [problem]),
    ...Object.entries(shares).map(
      ([name, { part, in_flight: flying, idle }]) =>
        `share ${name}: ${formatShare(part)} of a batch, ${flying} groups in flight${idle ? ', idle' : ''}`,
    ),
    rates,
  ];
  return [...own, ...said.flatMap((text) => wrap(text, columns))];
}

function toTable({ view, clients, episodes }: TopState): readonly string[] {
  if (view === 'clients') return clientTable(clients);
  return view === 'episodes' ? episodeTable(episodes) : [];
}

function clientTable(answer: ClientsAnswer | undefined): readonly string[] {
  if (answer === undefined) return ['', 'reading the clients'];
  const rows = answer.clients.map(({ client, running, silent_seconds: silent, revision, shares }) => [
    String(running),
    formatAge(silent),
    client,
    shares.join(' '),
    revision,
  ]);
  return rows.length === 0
    ? ['', 'no client is connected']
    : columnsOf(['running', 'silent', 'client', 'shares', 'revision'], rows);
}

function episodeTable(answer: EpisodesAnswer | undefined): readonly string[] {
  if (answer === undefined) return ['', 'reading the episodes'];
  const rows = answer.episodes.map(({ episode_id: id, seconds, client = '', group_id: group = '', place }) => [
    seconds === undefined ? '-' : formatAge(seconds),
    id,
    client,
    place === undefined ? group : `${group} ${place}`,
  ]);
  return rows.length === 0
    ? ['', 'no episode runs']
    : columnsOf(['open for', 'episode', 'client', 'group, place'], rows);
}

/** Aligns columns, with a heading and an empty line above it. */
function columnsOf(heading: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const all = [heading, ...rows.map((row) => row.map(toOneLine))];
  const widths = heading.map((_name, at) => Math.max(...all.map((row) => Math.min(24, stringWidth(row[at] ?? '')))));
  return [
    '',
    ...all.map((row) =>
      row
        .map((cell, at) => pad(fit(cell, widths[at] ?? 0), widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    ),
  ];
}

const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - stringWidth(text)));

/** Joins fields into lines. Each line has as many fields as fit. */
function packFields(fields: readonly (readonly [string, string])[], columns: number): readonly string[] {
  const lines: string[] = [];
  for (const [name, value] of fields) {
    const field = toOneLine(name === '' ? value : `${name} ${value}`);
    const last = lines.at(-1);
    const joined = last === undefined ? field : `${last}   ${field}`;
    if (last === undefined || stringWidth(joined) > columns) lines.push(field);
    else lines[lines.length - 1] = joined;
  }
  return lines;
}

/** Breaks text into lines at spaces. */
function wrap(text: string, columns: number, indent = ''): readonly string[] {
  const lines: string[] = [];
  for (const word of toOneLine(text).split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || stringWidth(`${last} ${word}`) > columns) lines.push(indent + word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** Cuts a line at `columns`, and marks the cut. Wide characters count as two. */
function fit(text: string, columns: number): string {
  const clean = toOneLine(text);
  if (stringWidth(clean) <= columns) return clean;
  let kept = '';
  for (const character of clean) {
    if (stringWidth(`${kept}${character}…`) > columns) break;
    kept += character;
  }
  return `${kept}…`;
}
