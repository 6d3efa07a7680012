import { type ReadonlySignal, useSignal } from '@preact/signals';
import type { ComponentChildren, ComponentType } from 'preact';

import { toTitle } from '../../crds/kind/index.js';
import type { OpenSession } from '../data/session.js';
import { type Action, mayDo } from '../model/actions.js';
import type { PlacedKind } from '../model/generated-kinds.js';
import {
  chooseColumns,
  getObjectKey,
  listCommonActions,
  type ListedObject,
  type ListingColumn,
} from '../model/listing.js';
import type { NodeView, Tone } from '../model/views.js';
import { ActionBar } from './action-bar.js';
import { useLiveItems, useReading } from './live-items.js';
import { Ago, Empty, Foreign, Help, MoreRows, PAGE, Pill } from './parts.js';

/** A column of a list. */
export interface DrawnColumn {
  readonly title: string;
  readonly show: (object: ListedObject, nodes: readonly NodeView[]) => ComponentChildren;
}

/** What the list of a kind has beyond what follows from its descriptor. All of it is optional. */
export interface KindListing {
  readonly columns?: readonly DrawnColumn[];
  /** What is said where there is none, and what to do. */
  readonly empty?: string;
  readonly help?: string;
  /** Buttons of one, for those who may change things. */
  readonly listActions?: (object: ListedObject, nodes: Iterable<NodeView>) => readonly Action[];
  /** What stands above and below the list. */
  readonly above?: ComponentType<{ readonly session: OpenSession }>;
  readonly below?: ComponentType<{ readonly session: OpenSession }>;
}

const STATE_TONES: Readonly<Record<string, Tone>> = {
  Ready: 'good',
  Succeeded: 'good',
  ready: 'good',
  Failed: 'bad',
  Degraded: 'bad',
  failed: 'bad',
};

/** A state, by its colour. */
export function State({ text }: { readonly text: string }) {
  return <Pill tone={STATE_TONES[text] ?? 'busy'} text={text || 'pending'} />;
}

interface KindPageProps {
  readonly session: OpenSession;
  readonly kind: PlacedKind;
  readonly listing: KindListing;
}

/** The list of a kind that has no page of its own. It is followed as long as the page is shown. */
export function KindPage(props: KindPageProps) {
  return props.kind.operations.includes('watch') ? <WatchedList {...props} /> : <ReadList {...props} />;
}

function WatchedList(props: KindPageProps) {
  const { session, kind } = props;
  const items = useLiveItems<ListedObject>(session, kind.path ?? '', object => getObjectKey(kind, object));
  return <ObjectList {...props} items={items.value} />;
}

/** What has no watch is read again when there is an event about its kind. */
function ReadList(props: KindPageProps) {
  const { session, kind } = props;
  const answer: ReadonlySignal<{ readonly items: readonly ListedObject[] } | undefined> = useReading(
    session,
    `${kind.path}?limit=500`,
    () => {
      const events = [...session.events.value.items.values()].filter(({ subject }) => subject.kind === kind.kind);
      return `${events.length} ${events.at(-1)?.id} ${events.at(-1)?.count}`;
    },
  );
  return <ObjectList {...props} items={answer.value?.items} />;
}

function ObjectList({
  session,
  kind,
  listing,
  items,
}: KindPageProps & { readonly items: readonly ListedObject[] | undefined }) {
  const { above: Above, below: Below } = listing;
  return (
    <>
      <h1>{toTitle(kind.plural)}</h1>
      {Above && <Above session={session} />}
      {items === undefined && <p class="soft">Reading …</p>}
      {items?.length === 0 && (
        <Empty title={listing.empty ?? `There is no ${kind.singular}`}>
          <Help text={listing.help ?? `On the command line: "moor get ${kind.plural}"`} />
        </Empty>
      )}
      {items && items.length > 0 && <ObjectTable session={session} kind={kind} listing={listing} items={items} />}
      {Below && <Below session={session} />}
    </>
  );
}

function ObjectTable({ session, kind, listing, items }: KindPageProps & { readonly items: readonly ListedObject[] }) {
  const shown = useSignal(PAGE);
  const nodes = [...session.nodes.value.values()];
  const listActions = listing.listActions ?? (object => listCommonActions(kind, object));
  const isChanging = listing.listActions
    ? mayDo(session.who, 'deployer')
    : kind.operations.includes('delete') && mayDo(session.who, kind.deletedBy ?? 'deployer');
  const columns = listing.columns ?? chooseColumns(kind, items).map(toDrawnColumn);
  return (
    <>
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
            {items.slice(0, shown.value).map(object => (
              <tr key={`${getObjectKey(kind, object)} ${object.metadata?.uid}`}>
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
      <MoreRows shown={shown} all={items.length} />
    </>
  );
}

function toDrawnColumn({ title, format, read }: ListingColumn): DrawnColumn {
  const show = (object: ListedObject) => {
    const text = read(object);
    if (format === 'age') return <Ago at={text} />;
    return format === 'state' ? <State text={text} /> : <Foreign text={text} />;
  };
  return { title, show };
}
