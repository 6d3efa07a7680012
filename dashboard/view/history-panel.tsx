import { useComputed, useSignal, useSignalEffect } from '@preact/signals';

import type { ArchivedRevision } from '../../crds/archive/archive.js';
import type { OpenSession } from '../data/session.js';
import { mayDo } from '../model/actions.js';
import { compareRevisions, describeChange, type HistoryView, toRollbackAction } from '../model/revisions.js';
import { showControls } from '../model/text.js';
import type { DeploymentView } from '../model/views.js';
import { ActionBar } from './action-bar.js';
import { Ago, Foreign, Panel } from './parts.js';

const ROWS_SHOWN = 10;
const SETTLE_MS = 300;
/** After a reading that failed: nothing else would ask for it before the next change. */
const AGAIN_MS = 2_000;

/** What the deployment was asked to be before: each revision, two of them beside each other, and the way back. */
export function HistoryPanel({
  session,
  deployment,
}: {
  readonly session: OpenSession;
  readonly deployment: DeploymentView;
}) {
  const { name } = deployment;
  const revisions = useSignal<readonly ArchivedRevision[]>([]);
  const chosen = useSignal<{ from?: number; to?: number }>({});
  const rows = useSignal(ROWS_SHOWN);
  // A history has no watch: it grows with the generation of its deployment.
  const generation = useComputed(() => session.deployments.value.items.get(name)?.metadata.generation);
  useSignalEffect(() => {
    void generation.value;
    const ended = new AbortController();
    const read = async () => {
      const path = `/api/v1/archives/deployments/${encodeURIComponent(name)}`;
      try {
        revisions.value = (await session.connection.get<HistoryView>(path, ended.signal)).revisions;
      } catch {
        if (!ended.signal.aborted) timer = setTimeout(() => void read(), AGAIN_MS);
      }
    };
    let timer = setTimeout(() => void read(), SETTLE_MS);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  });
  const known = revisions.value;
  const last = known.at(-1);
  if (!last) return null;
  const find = (number: number | undefined) => known.find(({ revision }) => revision === number);
  const to = find(chosen.value.to) ?? last;
  const from = find(chosen.value.from) ?? known[known.indexOf(to) - 1] ?? to;
  const newest = known.toReversed();
  return (
    <Panel title="History">
      <div class="scroll">
        <table class="list">
          <thead>
            <tr>
              {['Revision', 'Change', 'When', 'Replicas', 'Image', 'By', ''].map(title => (
                <th key={title} scope="col">
                  {title === '' ? <span class="hidden">What to do</span> : title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {newest.slice(0, rows.value).map(each => (
              <tr key={each.revision}>
                <th scope="row">{each.revision}</th>
                <td>
                  <Foreign text={describeChange(each)} />
                </td>
                <td>
                  <Ago at={each.at} />
                </td>
                <td>{each.spec.replicas}</td>
                <td>
                  <code>
                    <Foreign text={each.spec.image} />
                  </code>
                </td>
                <td>
                  <Foreign text={each.by} />
                </td>
                <td>
                  {each !== last && (
                    <button type="button" onClick={() => (chosen.value = { from: each.revision, to: last.revision })}>
                      Compare {each.revision} with {last.revision}
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {newest.length > rows.value && (
        <button type="button" class="more" onClick={() => (rows.value = newest.length)}>
          Show {newest.length - rows.value} more
        </button>
      )}
      {from !== to && <Difference from={from} to={to} />}
      {from !== to && mayDo(session.who, 'deployer') && deployment.metadata.deletedAt === undefined && (
        <ActionBar
          session={session}
          actions={[toRollbackAction(deployment, from.revision)]}
          onDone={() => (chosen.value = {})}
        />
      )}
    </Panel>
  );
}

function Difference({ from, to }: { readonly from: ArchivedRevision; readonly to: ArchivedRevision }) {
  const lines = compareRevisions(from, to);
  if (lines.length === 0)
    return (
      <p>
        Revisions {from.revision} and {to.revision} ask for the same.
      </p>
    );
  return (
    <div class="scroll">
      <table class="sides">
        <thead>
          <tr>
            <th scope="col">Revision {from.revision}</th>
            <th scope="col">Revision {to.revision}</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line, at) =>
            'skipped' in line ? (
              <tr key={at}>
                <td class="soft" colSpan={2}>
                  {line.skipped === 1 ? '1 line' : `${line.skipped} lines`} alike
                </td>
              </tr>
            ) : (
              <tr key={at}>
                <td class={line.isChanged && line.before !== undefined ? 'removed' : ''}>
                  {showControls(line.before ?? '')}
                </td>
                <td class={line.isChanged && line.after !== undefined ? 'added' : ''}>
                  {showControls(line.after ?? '')}
                </td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  );
}
