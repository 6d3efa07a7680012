import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

import type { OpenSession } from '../data/session.js';
import { formatBytes } from '../../crds/grammar/quantity.js';
import type { VolumeView } from '../../crds/volume/kind.js';
import { type Action, mayDo } from '../model/actions.js';
import { describeMove, listBackupActions, listNetworkActions, listVolumeActions } from '../model/object-actions.js';
import type { OtherKind } from '../model/places.js';
import type { NodeView, Tone } from '../model/views.js';
import { ActionBar } from './action-bar.js';
import { useLiveItems } from './live-items.js';
import { Promotions } from './promotions.js';
import { Recommendations } from './recommendations.js';
import { Ago, Empty, Foreign, Help, MoreRows, PAGE, Pill } from './parts.js';

/** An object of one of these kinds, as far as the lists show it. */
interface Shown {
  readonly [field: string]: unknown;
  readonly metadata?: { readonly createdAt?: string };
  readonly status?: {
    readonly phase?: string;
    readonly state?: string;
    readonly message?: string;
    readonly attempts?: number;
    readonly exitCode?: number;
    readonly nextRunAt?: string;
    readonly node?: string;
  };
}

interface KindColumn {
  readonly title: string;
  readonly show: (object: Shown, nodes: readonly NodeView[]) => ComponentChildren;
}

interface KindPageText {
  readonly title: string;
  readonly path: string;
  readonly nameOf: (object: Shown) => string;
  readonly columns: readonly KindColumn[];
  readonly empty: string;
  readonly help: string;
  /** Buttons of one, for those who may change things. */
  readonly listActions?: (object: Shown, nodes: Iterable<NodeView>) => readonly Action[];
}

const toText = (value: unknown) => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');
const text = (value: unknown) => <Foreign text={toText(value)} />;
const STATE_TONES: Readonly<Record<string, Tone>> = {
  Ready: 'good',
  Succeeded: 'good',
  ready: 'good',
  Failed: 'bad',
  Degraded: 'bad',
  failed: 'bad',
};
const state = (value: unknown) => (
  <Pill tone={STATE_TONES[toText(value)] ?? 'busy'} text={toText(value) || 'pending'} />
);
const bytes = (value: unknown) => (typeof value === 'number' ? formatBytes(value) : '');
const created: KindColumn = {
  title: 'Created',
  show: ({ metadata, createdAt }) => <Ago at={metadata?.createdAt ?? (createdAt as string | undefined)} />,
};
const named: KindColumn = { title: 'Name', show: ({ name }) => text(name) };

const KINDS: Readonly<Record<OtherKind, KindPageText>> = {
  jobs: {
    title: 'Jobs',
    path: '/api/v1/jobs',
    nameOf: ({ name }) => String(name),
    columns: [
      {
        title: 'Name',
        show: ({ name }) => <a href={`#/jobs/${encodeURIComponent(toText(name))}`}>{text(name)}</a>,
      },
      { title: 'Phase', show: ({ status }) => state(status?.phase) },
      { title: 'Attempts', show: ({ status, schedule }) => (schedule ? '' : text(status?.attempts)) },
      { title: 'Exit code', show: ({ status }) => text(status?.exitCode) },
      { title: 'Schedule', show: ({ schedule }) => text(schedule) },
      { title: 'Next run', show: ({ status }) => (status?.nextRunAt ? <Ago at={status.nextRunAt} /> : '') },
      { title: 'Message', show: ({ status }) => text(status?.message) },
      created,
    ],
    empty: 'No job is declared',
    help: 'A job runs to its end, at once or by a schedule: "moor run --help" begins one, "moor apply -f <file>" declares one.',
  },
  volumes: {
    title: 'Volumes',
    path: '/api/v1/dvm/volumes',
    nameOf: ({ id }) => String(id),
    columns: [
      named,
      { title: 'Phase', show: ({ phase }) => state(phase) },
      { title: 'Class', show: ({ class: kind }) => text(kind) },
      { title: 'Size', show: ({ sizeBytes }) => bytes(sizeBytes) },
      { title: 'Used', show: ({ usedBytes }) => bytes(usedBytes) },
      { title: 'Node', show: ({ primaryNodeName, primaryNode }) => text(primaryNodeName ?? primaryNode) },
      { title: 'Copies', show: ({ replicas }) => <Copies copies={replicas} /> },
      { title: 'Message', show: ({ message }) => text(message) },
      { title: 'Move', show: (volume, nodes) => text(describeMove(volume as unknown as VolumeView, nodes)) },
      created,
    ],
    listActions: volume => listVolumeActions(volume as unknown as VolumeView),
    empty: 'No volume is declared',
    help: 'Bytes that outlive containers: "moor volumes create data --size 1Gi"',
  },
  networks: {
    title: 'Networks',
    path: '/api/v1/networks',
    nameOf: ({ name }) => String(name),
    columns: [
      named,
      { title: 'State', show: ({ status }) => state(status?.state) },
      { title: 'Node', show: ({ status, nodeId }) => text(status?.node ?? nodeId) },
      { title: 'Way out', show: ({ internal }) => (internal ? 'none: internal' : 'yes') },
      created,
    ],
    listActions: network => listNetworkActions(network as unknown as Parameters<typeof listNetworkActions>[0]),
    empty: 'No network is declared',
    help: 'Deployments of a tenant reach each other without one. "moor networks create back --node <node> --internal" makes one that is closed to the outside.',
  },
  backups: {
    title: 'Backups',
    path: '/api/v1/backups',
    nameOf: ({ id }) => String(id),
    columns: [
      { title: 'Id', show: ({ id }) => <code>{text(id)}</code> },
      { title: 'Deployment', show: ({ deploymentName }) => text(deploymentName) },
      { title: 'Revisions', show: ({ revisionCount }) => text(revisionCount) },
      { title: 'By', show: ({ createdBy }) => text(createdBy) },
      created,
    ],
    listActions: ({ id, deploymentName: of }, nodes) =>
      listBackupActions({ id: toText(id), deploymentName: toText(of) }, nodes),
    empty: 'No backup was made',
    help: 'A copy of the configuration of a deployment with its history: "moor backup create <deployment>"',
  },
};

function Copies({ copies }: { readonly copies: unknown }) {
  if (!Array.isArray(copies) || copies.length === 0) return null;
  return (
    <>
      {(copies as readonly Shown[]).map(copy => (
        <span class="line" key={String(copy['nodeId'])}>
          <Foreign text={`${toText(copy['nodeName']) || toText(copy['nodeId'])}: ${toText(copy['state'])}`} />
          {typeof copy['lagBytes'] === 'number' && `, ${formatBytes(copy['lagBytes'])} behind`}{' '}
          {toText(copy['syncedAt']) !== '' && <Ago at={toText(copy['syncedAt'])} />}
        </span>
      ))}
    </>
  );
}

/** A live list of one of the other kinds. Its stream lasts as long as the page is shown. */
export function KindPage({ session, kind }: { readonly session: OpenSession; readonly kind: OtherKind }) {
  const { title, path, nameOf, columns, empty, help, listActions } = KINDS[kind];
  const items = useLiveItems(session, path, nameOf);
  const shown = useSignal(PAGE);
  const nodes = [...session.nodes.value.values()];
  const isChanging = listActions !== undefined && mayDo(session.who, 'deployer');
  return (
    <>
      <h1>{title}</h1>
      {kind === 'volumes' && <Recommendations session={session} />}
      {items.value === undefined && <p class="soft">Reading …</p>}
      {items.value?.length === 0 && (
        <Empty title={empty}>
          <Help text={help} />
        </Empty>
      )}
      {items.value && items.value.length > 0 && (
        <div class="scroll">
          <table class="list">
            <thead>
              <tr>
                {columns.map(column => (
                  <th key={column.title} scope="col">
                    {column.title}
                  </th>
                ))}
                {isChanging && <th scope="col">Change</th>}
              </tr>
            </thead>
            <tbody>
              {items.value.slice(0, shown.value).map(object => (
                <tr key={nameOf(object)}>
                  {columns.map(column => (
                    <td key={column.title}>{column.show(object, nodes)}</td>
                  ))}
                  {isChanging && (
                    <td>
                      <ActionBar session={session} actions={listActions(object, nodes)} />
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <MoreRows shown={shown} all={items.value?.length ?? 0} />
      {kind === 'volumes' && <Promotions session={session} />}
    </>
  );
}
