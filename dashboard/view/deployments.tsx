import { useSignal } from '@preact/signals';

import type { OpenSession } from '../data/session.js';
import {
  type DeploymentColumn,
  filterRows,
  type DeploymentRow,
  type SortOrder,
  sortRows,
  toDeploymentRow,
} from '../model/deployment-list.js';
import { mayDo } from '../model/actions.js';
import { getPhaseTone } from '../model/troubles.js';
import { Ago, Empty, Foreign, Help, Pill } from './parts.js';

const PAGE = 100;
const COLUMNS: readonly (readonly [DeploymentColumn, string])[] = [
  ['name', 'Name'],
  ['phase', 'Phase'],
  ['ready', 'Ready'],
  ['image', 'Image'],
  ['restarts', 'Restarts'],
  ['age', 'Created'],
];

/** All deployments, live, with a filter; the worst first until another order is chosen. */
export function Deployments({ session }: { readonly session: OpenSession }) {
  const filter = useSignal('');
  const order = useSignal<SortOrder>({ column: 'phase', isDescending: false });
  const shown = useSignal(PAGE);
  const all = [...session.deployments.value.items.values()].map(toDeploymentRow);
  const rows = sortRows(filterRows(all, filter.value), order.value);
  return (
    <>
      <div class="heading">
        <h1>Deployments</h1>
        {mayDo(session.who, 'deployer') && <a href="#/new">New deployment</a>}
      </div>
      <div class="tools">
        <input
          id="search"
          type="search"
          placeholder="Filter by name, phase, image or message"
          aria-label="Filter deployments"
          value={filter.value}
          onInput={event => {
            filter.value = event.currentTarget.value;
            shown.value = PAGE;
          }}
        />
        <span class="soft" role="status">
          {rows.length === all.length ? `${all.length} in all` : `${rows.length} of ${all.length}`}
        </span>
      </div>
      {rows.length === 0 ? (
        <NoRows hasAny={all.length > 0} />
      ) : (
        <div class="scroll">
          <table class="list">
            <thead>
              <tr>
                {COLUMNS.map(([column, title]) => (
                  <Heading
                    key={column}
                    column={column}
                    title={title}
                    order={order.value}
                    onOrder={next => (order.value = next)}
                  />
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, shown.value).map(row => (
                <Row key={row.name} row={row} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {rows.length > shown.value && (
        <button type="button" class="more" onClick={() => (shown.value += PAGE)}>
          Show {Math.min(PAGE, rows.length - shown.value)} more of {rows.length - shown.value}
        </button>
      )}
    </>
  );
}

function NoRows({ hasAny }: { readonly hasAny: boolean }) {
  if (hasAny) return <Empty title="Nothing matches the filter" />;
  return (
    <Empty title="Nothing is deployed yet">
      <Help text={'Declare a first one: "moor apply -f examples/web.yaml"'} />
    </Empty>
  );
}

function Heading({
  column,
  title,
  order,
  onOrder,
}: {
  readonly column: DeploymentColumn;
  readonly title: string;
  readonly order: SortOrder;
  readonly onOrder: (order: SortOrder) => void;
}) {
  const isSorted = order.column === column;
  const direction = order.isDescending ? 'descending' : 'ascending';
  return (
    <th scope="col" aria-sort={isSorted ? direction : 'none'} class={`col-${column}`}>
      <button type="button" onClick={() => onOrder({ column, isDescending: isSorted && !order.isDescending })}>
        {title}
        <span aria-hidden="true" class="arrow">
          {isSorted ? (order.isDescending ? '↓' : '↑') : ''}
        </span>
      </button>
    </th>
  );
}

function Row({ row }: { readonly row: DeploymentRow }) {
  const { name, phase, message, ready, wanted, image, restarts, createdAt } = row;
  return (
    <tr>
      <th scope="row" class="col-name">
        <a href={`#/deployments/${encodeURIComponent(name)}`}>
          <Foreign text={name} />
        </a>
        {phase !== 'Running' && (
          <span class="soft line">
            <Foreign text={message} />
          </span>
        )}
      </th>
      <td class="col-phase">
        <Pill tone={getPhaseTone(phase)} text={phase} />
      </td>
      <td class="col-ready">
        {ready}/{wanted}
      </td>
      <td class="col-image">
        <code>
          <Foreign text={image} />
        </code>
      </td>
      <td class="col-restarts">{restarts}</td>
      <td class="col-age">
        <Ago at={createdAt} />
      </td>
    </tr>
  );
}
