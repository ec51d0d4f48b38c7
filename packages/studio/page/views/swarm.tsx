import { useEffect } from 'preact/hooks';
import { showNumber, showRate, showSeconds } from '../../src/page-logic/format.js';
import type { SwarmView } from '../../src/wire.js';
import { Empty, FactList, Panel, Problem, Shown, Words } from '../parts/basics.js';
import { WideTable } from '../parts/table.js';
import { answerOf, readAgain } from '../state/store.js';

const everyMs = 2000;

/** Shows what the next step of a swarm server waits for, and its clients, shares, policies and episodes. */
export function Swarm() {
  useEffect(() => {
    const timer = setInterval(() => readAgain('swarm'), everyMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="page">
      <Shown of={answerOf<SwarmView>('swarm')}>{(swarm) => <Body swarm={swarm} />}</Shown>
    </div>
  );
}

type Answered = Exclude<SwarmView, { readonly problem: string }>;

function Body({ swarm }: { readonly swarm: SwarmView }) {
  return (
    <>
      <div class="bar">
        <h1>Swarm</h1>
        <span class="muted mono">{swarm.url}</span>
      </div>
      {swarm.problem === undefined ? <Figures swarm={swarm} /> : <Problem text={swarm.problem} />}
    </>
  );
}

function Figures({ swarm }: { readonly swarm: Answered }) {
  const { training, facts, account, dropped, shares, policies, clients, episodesProblem, waits } = swarm;
  return (
    <>
      {training !== undefined && <Problem text={training} />}
      <Panel title="What the next step waits for">
        <ul class="events">
          {waits.map((text) => (
            <li key={text}>
              <Words text={text} />
            </li>
          ))}
        </ul>
      </Panel>
      <Panel title="Clients" note="their newest episodes by state">
        {episodesProblem !== undefined && <Problem text={episodesProblem} />}
        {clients.length === 0 ? (
          <Empty>No client has an episode.</Empty>
        ) : (
          <TextTable
            label="Clients"
            heads={['Client', ...statesOf(clients)]}
            rows={clients.map(({ name, states }) => [
              name,
              ...statesOf(clients).map((state) => showNumber(states[state] ?? 0)),
            ])}
          />
        )}
      </Panel>
      {shares.length > 0 && (
        <Panel title="Shares" note="groups of the newest batch">
          <TextTable
            label="Shares"
            heads={['Share', 'Part', 'Asked', 'Got', 'In flight', 'Trained', 'Tasks', '']}
            rows={shares.map(({ name, part, asked, got, inFlight, trained, tasks, isIdle }) => [
              name,
              showRate(part),
              ...[asked, got, inFlight, trained, tasks].map(showNumber),
              isIdle ? 'idle' : '',
            ])}
          />
        </Panel>
      )}
      {policies.length > 0 && (
        <Panel title="Policies">
          <TextTable
            label="Policies"
            heads={['Policy', 'State', 'Step', 'Groups that wait', 'Calls have waited', '']}
            rows={policies.map(({ name, state, step, pooled, waitSeconds, problem = '' }) => [
              name,
              state,
              showNumber(step),
              showNumber(pooled),
              showSeconds(waitSeconds),
              problem,
            ])}
          />
        </Panel>
      )}
      <div class="columns">
        <Panel title="Server">
          <FactList facts={facts.map(([name, value]) => [name.replaceAll('_', ' '), String(value)] as const)} />
        </Panel>
        <Panel title="Episodes">
          <FactList facts={Object.entries(account).map(([name, count]) => [name, showNumber(count)] as const)} />
          <FactList
            facts={Object.entries(dropped).map(([name, count]) => [`dropped: ${name}`, showNumber(count)] as const)}
          />
        </Panel>
      </div>
    </>
  );
}

const statesOf = (clients: Answered['clients']): readonly string[] => [
  ...new Set(clients.flatMap(({ states }) => Object.keys(states))),
];

type TextTableProps = {
  readonly label: string;
  readonly heads: readonly string[];
  readonly rows: readonly (readonly string[])[];
};

function TextTable({ label, heads, rows }: TextTableProps) {
  return (
    <WideTable label={label} columns={heads.map((head) => (head === '' ? <span class="sr">Note</span> : head))}>
      {rows.map(([name = '', ...cells]) => (
        <tr key={name}>
          <th scope="row">
            <Words text={name} />
          </th>
          {cells.map((cell, at) => (
            <td key={at}>
              <Words text={cell} />
            </td>
          ))}
        </tr>
      ))}
    </WideTable>
  );
}
