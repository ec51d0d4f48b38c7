import { showSeconds } from '../../src/page-logic/format.js';
import type { EpisodeView, TimeBar } from '../../src/wire.js';
import { Empty, Panel } from '../parts/basics.js';
import { number, Table } from '../parts/table.js';

const kindWords: Readonly<Record<TimeBar['kind'], string>> = {
  episode: 'whole episode',
  call: 'model call',
  untrained: 'call to another model',
  span: 'tool or environment',
  judge: 'judge',
};

/** Shows when each call ran, in one lane for each agent and tool. */
export function Timeline({ episode: { times, seconds } }: { readonly episode: EpisodeView }) {
  const lanes = [...new Set(times.map(({ lane }) => lane))];
  const end = Math.max(1, seconds * 1000, ...times.map(({ endedMs }) => endedMs));
  const kinds = [...new Set(times.map(({ kind }) => kind))];
  if (times.length <= 1)
    return <Empty>The episode took {showSeconds(seconds)}. Its calls have no recorded times.</Empty>;
  return (
    <Panel title="Time" note={showSeconds(end / 1000)}>
      <ul class="time-legend">
        {kinds.map((kind) => (
          <li key={kind}>
            <i class={`lane-${kind}`} aria-hidden="true" /> {kindWords[kind]}
          </li>
        ))}
      </ul>
      <div class="lanes">
        {lanes.map((lane) => (
          <div key={lane} class="lane">
            <span class="lane-name">{lane}</span>
            <span class="lane-bars">
              {times
                .filter((bar) => bar.lane === lane)
                .map(({ label, kind, beganMs, endedMs }, at) => (
                  <i
                    key={at}
                    class={`lane-${kind}`}
                    title={`${label}: ${showSeconds((endedMs - beganMs) / 1000)} from ${showSeconds(beganMs / 1000)}`}
                    style={{
                      left: `${(beganMs / end) * 100}%`,
                      width: `${Math.max(0.2, ((endedMs - beganMs) / end) * 100)}%`,
                    }}
                  />
                ))}
            </span>
          </div>
        ))}
      </div>
      <details class="values">
        <summary>As a table</summary>
        <Table columns={['What', 'Kind', number('From'), number('For')]}>
          {times.map(({ lane, label, kind, beganMs, endedMs }, at) => (
            <tr key={at}>
              <th scope="row">
                {lane} {label}
              </th>
              <td>{kindWords[kind]}</td>
              <td class="num">{showSeconds(beganMs / 1000)}</td>
              <td class="num">{showSeconds((endedMs - beganMs) / 1000)}</td>
            </tr>
          ))}
        </Table>
      </details>
    </Panel>
  );
}
