import { buildPlacementGrid } from '../model/placement-grid.js';
import type { PlacementView } from '../model/views.js';
import { Empty, Foreign } from './parts.js';

const ROWS_SHOWN = 100;

/** Node by filter: which of them stands in the way where. */
export function PlacementGrid({ placement }: { readonly placement: PlacementView }) {
  const { filters, rows } = buildPlacementGrid(placement);
  return (
    <>
      <p>
        <Foreign text={placement.outlook} />
      </p>
      {rows.length === 0 ? (
        <Empty title="The tenant has no node" />
      ) : (
        <div class="scroll">
          <table class="list grid">
            <thead>
              <tr>
                <th scope="col">Node</th>
                {filters.map(filter => (
                  <th key={filter} scope="col">
                    {filter}
                  </th>
                ))}
                <th scope="col">Verdict</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, ROWS_SHOWN).map(({ node, isAble, note, cells }) => (
                <tr key={node}>
                  <th scope="row">
                    <Foreign text={node} />
                  </th>
                  {cells.map(({ filter, isRefused, message }) => (
                    <td key={filter} class={isRefused ? 'refused' : 'passed'}>
                      {isRefused ? <Foreign text={message} /> : 'passes'}
                    </td>
                  ))}
                  <td>
                    {isAble ? 'could take a replica' : 'refused'}
                    {note !== '' && (
                      <span class="soft line">
                        <Foreign text={note} />
                      </span>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
