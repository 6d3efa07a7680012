import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';

import type { OpenSession } from '../data/session.js';
import {
  type DeploymentColumn,
  describeHeldOrder,
  filterRows,
  holdOrder,
  type DeploymentRow,
  type SortOrder,
  sortRows,
  toDeploymentRow,
} from '../model/deployment-list.js';
import { mayDo } from '../model/actions.js';
import { showControls } from '../model/text.js';
import { getPhaseTone } from '../model/troubles.js';
import { Ago, Empty, Foreign, Help, MoreRows, PAGE, Pill } from './parts.js';

const COLUMNS: readonly (readonly [DeploymentColumn, string])[] = [
  ['name', 'Name'],
  ['phase', 'Phase'],
  ['ready', 'Ready'],
  ['image', 'Image'],
  ['restarts', 'Restarts'],
  ['age', 'Created'],
];

const WORST_FIRST: SortOrder = { column: 'phase', isDescending: false };

/** All deployments, live, with a filter; the worst first until another order is chosen. */
export function Deployments({ session }: { readonly session: OpenSession }) {
  const filter = useSignal('');
  const order = useSignal(WORST_FIRST);
  const shown = useSignal(PAGE);
  const turn = useSignal(0);
  void turn.value;
  const all = [...session.deployments.value.items.values()].map(toDeploymentRow);
  const sorted = sortRows(filterRows(all, filter.value), order.value);
  const stood = useRef<readonly string[] | undefined>(undefined);
  const rows = holdOrder(stood.current, sorted);
  stood.current = rows.map(({ name }) => name);
  const isHeld = rows.some(({ name }, at) => name !== sorted[at]?.name);
  const held = describeHeldOrder(rows, shown.value);
  const sortAgain = () => {
    stood.current = undefined;
    shown.value = PAGE;
    turn.value++;
  };
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
            sortAgain();
          }}
        />
        <span class="soft" role="status">
          {rows.length === all.length ? `${all.length} in all` : `${rows.length} of ${all.length}`}
        </span>
        <button
          type="button"
          class={`again ${isHeld ? (held.hidden > 0 ? 'danger' : '') : 'unseen'}`}
          onClick={() => {
            if (held.hidden > 0) order.value = WORST_FIRST; // in another order they could stay where they are
            sortAgain();
          }}
        >
          {held.text}
        </button>
      </div>
      {rows.length === 0 ? (
        <NoRows hasAny={all.length > 0} />
      ) : (
        <div class="scroll">
          <table class="list steady">
            <thead>
              <tr>
                {COLUMNS.map(([column, title]) => (
                  <Heading
                    key={column}
                    column={column}
                    title={title}
                    order={order.value}
                    onOrder={next => {
                      order.value = next;
                      sortAgain();
                    }}
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
      <MoreRows shown={shown} all={rows.length} />
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
        <a href={`#/deployments/${encodeURIComponent(name)}`} title={showControls(name)}>
          <Foreign text={name} />
        </a>
        <span class="soft line" title={showControls(message)}>
          <Foreign text={phase === 'Running' ? '' : message} />
        </span>
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
