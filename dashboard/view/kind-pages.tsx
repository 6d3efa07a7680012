import type { ComponentType } from 'preact';

import { formatBytes } from '../../crds/grammar/quantity.js';
import type { VolumeView } from '../../crds/volume/view.js';
import type { OpenSession } from '../data/session.js';
import { listJobActions } from '../model/jobs.js';
import type { ListedObject } from '../model/listing.js';
import { describeMove, listBackupActions, listNetworkActions, listVolumeActions } from '../model/object-actions.js';
import type { kindPlaces, KnownPlural } from '../model/places.js';
import type { JobView } from '../model/views.js';
import { DeploymentPage } from './deployment.js';
import { Deployments } from './deployments.js';
import { Events } from './events.js';
import { JobPage } from './job.js';
import { type DrawnColumn, type KindListing, State } from './kind-page.js';
import { NodePage, Nodes } from './nodes.js';
import { Ago, Foreign } from './parts.js';
import { Promotions } from './promotions.js';
import { Recommendations } from './recommendations.js';
import { Secrets } from './secrets.js';
import { Tokens } from './tokens.js';

type SessionPage = ComponentType<{ readonly session: OpenSession }>;
type ObjectPage = ComponentType<{ readonly session: OpenSession; readonly name: string }>;

/** What is drawn for a kind in the place of the list that follows from its descriptor, or in it. */
interface KindPages {
  readonly list?: SessionPage;
  readonly listing?: KindListing;
  readonly object?: ObjectPage;
}

/** The kinds whose objects have a page, as `kindPlaces` says: the compiler demands each of these pages. */
type ObjectPages = {
  readonly [Plural in keyof typeof kindPlaces as (typeof kindPlaces)[Plural] extends { readonly hasObjectPage: true }
    ? Plural
    : never]: { readonly object: ObjectPage };
};

const toText = (value: unknown) => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');
const text = (value: unknown) => <Foreign text={toText(value)} />;
const bytes = (value: unknown) => (typeof value === 'number' ? formatBytes(value) : '');
const created: DrawnColumn = { title: 'Created', show: ({ metadata }) => <Ago at={metadata?.createdAt} /> };

/** The status of a job, as far as the list shows it. */
interface JobProgress {
  readonly phase?: string;
  readonly message?: string;
  readonly attempts?: number;
  readonly exitCode?: number;
  readonly nextRunAt?: string;
}

const readStatus = ({ status }: ListedObject) => (status ?? {}) as JobProgress;

const jobs: KindListing = {
  columns: [
    { title: 'Name', show: ({ name }) => <a href={`#/jobs/${encodeURIComponent(toText(name))}`}>{text(name)}</a> },
    { title: 'Phase', show: job => <State text={toText(readStatus(job).phase)} /> },
    { title: 'Attempts', show: job => (job['schedule'] ? '' : text(readStatus(job).attempts)) },
    { title: 'Exit code', show: job => text(readStatus(job).exitCode) },
    { title: 'Schedule', show: ({ schedule }) => text(schedule) },
    {
      title: 'Next run',
      show: job => (readStatus(job).nextRunAt ? <Ago at={readStatus(job).nextRunAt} /> : ''),
    },
    { title: 'Message', show: job => text(readStatus(job).message) },
    created,
  ],
  listActions: job => listJobActions(job as unknown as JobView),
  empty: 'No job is declared',
  help: 'A job runs to its end, at once or by a schedule: "moor run --help" begins one, "moor apply -f <file>" declares one.',
};

const volumes: KindListing = {
  columns: [
    { title: 'Name', show: ({ name }) => text(name) },
    { title: 'Phase', show: ({ phase }) => <State text={toText(phase)} /> },
    { title: 'Class', show: ({ class: kind }) => text(kind) },
    { title: 'Size', show: ({ sizeBytes }) => bytes(sizeBytes) },
    { title: 'Used', show: ({ usedBytes }) => bytes(usedBytes) },
    { title: 'Node', show: ({ primaryNodeName, primaryNode }) => text(primaryNodeName ?? primaryNode) },
    { title: 'Copies', show: ({ replicas }) => <Copies copies={replicas} /> },
    { title: 'Failover', show: ({ failover }) => text((failover as VolumeView['failover'])?.mode) },
    { title: 'Message', show: ({ message }) => text(message) },
    { title: 'Move', show: (volume, nodes) => text(describeMove(volume as unknown as VolumeView, nodes)) },
    created,
  ],
  listActions: volume => listVolumeActions(volume as unknown as VolumeView),
  empty: 'No volume is declared',
  help: 'Bytes that outlive containers: "moor volumes create data --size 1Gi"',
  above: Recommendations,
  below: Promotions,
};

function Copies({ copies }: { readonly copies: unknown }) {
  if (!Array.isArray(copies) || copies.length === 0) return null;
  return (
    <>
      {(copies as readonly ListedObject[]).map(copy => (
        <span class="line" key={String(copy['nodeId'])}>
          <Foreign text={`${toText(copy['nodeName']) || toText(copy['nodeId'])}: ${toText(copy['state'])}`} />
          {typeof copy['lagBytes'] === 'number' && `, ${formatBytes(copy['lagBytes'])} behind`}{' '}
          {toText(copy['syncedAt']) !== '' && <Ago at={toText(copy['syncedAt'])} />}
        </span>
      ))}
    </>
  );
}

/** The one table of what is special about a kind here. A kind without an entry has a list that follows from its descriptor. */
const kindPages: { readonly [Plural in KnownPlural]?: KindPages } & ObjectPages = {
  deployments: { list: Deployments, object: DeploymentPage },
  nodes: { list: Nodes, object: NodePage },
  jobs: { listing: jobs, object: ({ session, name }) => <JobPage key={name} session={session} name={name} /> },
  secrets: { list: Secrets },
  volumes: { listing: volumes },
  networks: {
    listing: {
      listActions: network => listNetworkActions(network as unknown as Parameters<typeof listNetworkActions>[0]),
      empty: 'No network is declared',
      help: 'Deployments of a tenant reach each other without one. "moor networks create back --node <node> --internal" makes one that is closed to the outside.',
    },
  },
  backups: {
    listing: {
      listActions: ({ id, deploymentName: of }, nodes) =>
        listBackupActions({ id: toText(id), deploymentName: toText(of) }, nodes),
      empty: 'No backup was made',
      help: 'A copy of the configuration of a deployment with its history: "moor backup create <deployment>"',
    },
  },
  tokens: { list: Tokens },
  events: { list: Events },
};

/** What is special about a kind; nothing for one that is not in the table. */
export function getKindPages(plural: string): KindPages {
  return Object.hasOwn(kindPages, plural) ? kindPages[plural as KnownPlural]! : {};
}
