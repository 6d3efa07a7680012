import { useComputed, useSignal, useSignalEffect } from '@preact/signals';

import type { OpenSession } from '../data/session.js';
import { listDeploymentActions, mayDo, toScaleAction } from '../model/actions.js';
import { getPhaseTone, listShownSteps } from '../model/troubles.js';
import type { DeploymentView, EventView, PlacementView } from '../model/views.js';
import { ActionBar } from './action-bar.js';
import { EventList, takeNewest } from './event-list.js';
import { HistoryPanel } from './history-panel.js';
import { LogPanel } from './log-panel.js';
import { Ago, Empty, Foreign, Help, Panel, Pill } from './parts.js';
import { PlacementGrid } from './placement-grid.js';
import { ProgressPanel } from './progress-panel.js';
import { RelationsPanel } from './relations-panel.js';
import { Replicas } from './replicas.js';
import { RotationPanel } from './rotation-panel.js';
import { Steps } from './steps.js';

const EVENTS_SHOWN = 40;
const SETTLE_MS = 400;

/** One deployment: how far it is and what it waits for, its replicas, where it may run, its events and its log. */
export function DeploymentPage({ session, name }: { readonly session: OpenSession; readonly name: string }) {
  const deployment = session.deployments.value.items.get(name);
  if (!deployment) {
    return (
      <>
        <h1>
          <Foreign text={name} />
        </h1>
        <Empty title={session.deployments.value.isLoaded ? 'There is no deployment of this name' : 'Reading …'}>
          <p>
            <a href="#/deployments">All deployments</a>
          </p>
        </Empty>
      </>
    );
  }
  return <Known key={deployment.metadata.uid} session={session} deployment={deployment} />;
}

function Known({ session, deployment }: { readonly session: OpenSession; readonly deployment: DeploymentView }) {
  const { name, image, status, metadata } = deployment;
  const steps = listShownSteps(deployment);
  const placement = usePlacement(session, name);
  const events = useEvents(session, deployment);
  const phase = status?.phase ?? 'Pending';
  return (
    <>
      <p class="crumbs">
        <a href="#/deployments">Deployments</a>
      </p>
      <div class="heading">
        <h1>
          <Foreign text={name} />
        </h1>
        <Pill tone={getPhaseTone(phase)} text={phase} />
        <span class="soft">
          revision {status?.revision ?? 0}, created <Ago at={metadata.createdAt} />
        </span>
      </div>
      <p class="lead">
        <Foreign text={status?.message ?? 'accepted; not reconciled yet'} />
      </p>
      <p>
        <code class="image">
          <Foreign text={image} />
        </code>
      </p>
      {mayDo(session.who, 'deployer') && <Change session={session} deployment={deployment} />}
      <Panel title="How far it is">
        <Steps steps={steps} />
      </Panel>
      <ProgressPanel session={session} deployment={deployment} />
      <Panel title="Replicas">
        <Replicas deployment={deployment} nodes={session.nodes.value} />
      </Panel>
      {(deployment.secrets ?? []).length > 0 && <RotationPanel session={session} deployment={deployment} />}
      {placement.value && placement.value.candidates.length > 0 && (
        <Panel title="Where it may run" aside={<Help text={`"moor explain deployment ${name}"`} />}>
          <PlacementGrid placement={placement.value} />
        </Panel>
      )}
      <RelationsPanel session={session} name={name} />
      <LogPanel session={session} deployment={deployment} />
      <Panel title="Events">
        <EventList events={events.value} isBrief />
      </Panel>
      <HistoryPanel session={session} deployment={deployment} />
      <Panel title="Declared">
        <details>
          <summary>The configuration that is stored</summary>
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
          <pre class="output" tabIndex={0}>
            {JSON.stringify(withoutStatus(deployment), undefined, 2)}
          </pre>
        </details>
      </Panel>
    </>
  );
}

/** What may be changed here; the rest of it in the editor. */
function Change({ session, deployment }: { readonly session: OpenSession; readonly deployment: DeploymentView }) {
  const replicas = useSignal<number | undefined>(undefined);
  return (
    <ActionBar session={session} actions={listDeploymentActions(deployment, Date.now())}>
      {run => (
        <form
          class="scale"
          onSubmit={event => {
            event.preventDefault();
            run(toScaleAction(deployment, replicas.value ?? deployment.replicas));
            replicas.value = undefined;
          }}
        >
          <a href={`#/deployments/${encodeURIComponent(deployment.name)}/edit`}>Edit</a>
          <input
            type="number"
            min="0"
            aria-label="Replicas"
            value={replicas.value ?? deployment.replicas}
            onInput={event => (replicas.value = event.currentTarget.valueAsNumber || 0)}
          />
          <button type="submit">Scale</button>
        </form>
      )}
    </ActionBar>
  );
}

function withoutStatus(deployment: DeploymentView): object {
  const { status: _, metadata: __, ...spec } = deployment;
  return spec;
}

/** The explanation of placement, read again when the deployment or a node has changed. */
function usePlacement(session: OpenSession, name: string) {
  const placement = useSignal<PlacementView | undefined>(undefined);
  const cause = useComputed(() => {
    const status = session.deployments.value.items.get(name)?.status;
    const nodes = [...session.nodes.value.values()].map(node => `${node.name} ${node.status}`);
    return JSON.stringify([status?.phase, status?.message, status?.observedGeneration, nodes]);
  });
  useSignalEffect(() => {
    void cause.value;
    const ended = new AbortController();
    const read = async () => {
      const path = `/api/v1/deployments/${encodeURIComponent(name)}/explain`;
      placement.value = await session.connection.get<PlacementView>(path, ended.signal).catch(() => placement.peek());
    };
    const timer = setTimeout(() => void read(), SETTLE_MS);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  });
  return placement;
}

/** The events of a deployment: those of before from the list, those that follow from the stream that all pages share. */
function useEvents(session: OpenSession, { name, metadata }: DeploymentView) {
  const earlier = useSignal<readonly EventView[]>([]);
  useSignalEffect(() => {
    const ended = new AbortController();
    const path = `/api/v1/events?limit=500&subject=${encodeURIComponent(`Deployment/${name}`)}`;
    session.connection
      .get<{ items: readonly EventView[] }>(path, ended.signal)
      .then(({ items }) => (earlier.value = items))
      .catch(() => undefined); // the stream brings what follows
    return () => ended.abort();
  });
  return useComputed(() => {
    const live = [...session.events.value.items.values()].filter(
      ({ subject }) => subject.kind === 'Deployment' && subject.name === name,
    );
    const all = new Map([...earlier.value, ...live].map(event => [event.id, event]));
    return takeNewest(
      [...all.values()].filter(({ subject }) => subject.id === metadata.uid || subject.name === name),
      EVENTS_SHOWN,
    );
  });
}
