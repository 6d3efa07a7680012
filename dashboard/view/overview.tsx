import { useSignal, useSignalEffect } from '@preact/signals';
import { useRef } from 'preact/hooks';

import type { OpenSession } from '../data/session.js';
import { summariseCapacity } from '../model/capacity.js';
import { mayDo } from '../model/actions.js';
import { type HeldTrouble, holdTroubles, isOutOfOrder, HELD_MAX } from '../model/held-troubles.js';
import { getNodeTone, type Trouble } from '../model/troubles.js';
import type { JobView } from '../model/views.js';
import { ActionBar } from './action-bar.js';
import { SteadyEvents, takeNewest } from './event-list.js';
import { useLiveItems } from './live-items.js';
import { Ago, Bar, Empty, Foreign, Help, Panel, Pill } from './parts.js';
import { FullQuotas } from './quotas.js';

const EVENTS_SHOWN = 10;
const NODES_SHOWN = 60;

/** What is wrong first; then machines, capacity, and what happened last. */
export function Overview({ session }: { readonly session: OpenSession }) {
  const deployments = [...session.deployments.value.items.values()];
  const nodes = [...session.nodes.value.values()];
  const troubles = session.troubles.value;
  useJobs(session);
  const running = deployments.filter(({ status }) => status?.phase === 'Running').length;
  const ready = nodes.filter(({ status }) => status === 'ready').length;
  return (
    <>
      <h1>Overview</h1>
      <div class="figures">
        <Figure href="#/deployments" value={`${running} of ${deployments.length}`} label="deployments running" />
        <Figure href="#/nodes" value={`${ready} of ${nodes.length}`} label="nodes ready" />
        <Figure
          href="#/"
          value={String(troubles.length)}
          label={troubles.length === 1 ? 'thing is wrong' : 'things are wrong'}
        />
      </div>
      <div class="overview">
        <Troubles session={session} />
        <div>
          <Panel title="Capacity">
            {nodes.length === 0 ? (
              <Empty title="No machine is enrolled">
                <Help text={'Mint a token for one: "moor nodes join-token"'} />
              </Empty>
            ) : (
              summariseCapacity(nodes).map(bar => <Bar key={bar.label} {...bar} />)
            )}
          </Panel>
          <Panel title="Recent events" aside={<a href="#/events">All events</a>}>
            <SteadyEvents events={takeNewest(session.events.value.items.values(), EVENTS_SHOWN)} rows={EVENTS_SHOWN} />
          </Panel>
          {nodes.length > 0 && (
            <Panel title="Nodes">
              <ul class="chips">
                {nodes.slice(0, NODES_SHOWN).map(({ name, status }) => (
                  <li key={name}>
                    <a href={`#/nodes/${encodeURIComponent(name)}`}>
                      <Foreign text={name} />
                    </a>{' '}
                    <Pill tone={getNodeTone(status)} text={status} />
                  </li>
                ))}
              </ul>
            </Panel>
          )}
          <FullQuotas session={session} />
        </div>
      </div>
    </>
  );
}

/** What is wrong. While the page is open nothing that stands there moves: what is new comes last, what is right again stays. */
function Troubles({ session }: { readonly session: OpenSession }) {
  const troubles = session.troubles.value;
  const turn = useSignal(0);
  void turn.value;
  const stood = useRef<readonly HeldTrouble[]>([]);
  const held = holdTroubles(stood.current, troubles);
  stood.current = held;
  const sortAgain = () => {
    stood.current = [];
    turn.value++;
  };
  const again = (
    <button type="button" class={isOutOfOrder(held, troubles) ? '' : 'unseen'} onClick={sortAgain}>
      Put in order
    </button>
  );
  return (
    <Panel title="What is wrong" aside={again}>
      {held.length === 0 ? (
        <NoTroubles session={session} />
      ) : (
        <ul class="troubles">
          {held.slice(0, HELD_MAX).map(({ trouble, isSettled }) => (
            <TroubleItem key={trouble.key} session={session} trouble={trouble} isSettled={isSettled} />
          ))}
        </ul>
      )}
      {held.length > HELD_MAX && (
        <p class="soft">
          And {held.length - HELD_MAX} more. <a href="#/deployments">All deployments</a>, the worst first.
        </p>
      )}
    </Panel>
  );
}

function NoTroubles({ session }: { readonly session: OpenSession }) {
  if (session.deployments.value.items.size > 0) {
    return (
      <Empty title="Nothing is wrong">
        <p>Everything is as it was asked for, or on its way there.</p>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing is deployed yet">
      {mayDo(session.who, 'deployer') && (
        <p>
          <a href="#/new">Declare a first deployment</a> here, or on the command line:
        </p>
      )}
      <Help text={'"moor apply -f examples/web.yaml"'} />
    </Empty>
  );
}

function Figure({ href, value, label }: { readonly href: string; readonly value: string; readonly label: string }) {
  return (
    <a class="figure" href={href}>
      <span class="figure-value">{value}</span>
      <span class="figure-label">{label}</span>
    </a>
  );
}

/** While this page is shown jobs are watched: no event reports one that was deleted. */
function useJobs(session: OpenSession): void {
  const live = useLiveItems<JobView>(session, '/api/v1/jobs', ({ name }) => name);
  useSignalEffect(() => {
    if (live.value) session.others.jobs.value = live.value;
  });
}

function TroubleItem({
  session,
  trouble,
  isSettled,
}: {
  readonly session: OpenSession;
  readonly trouble: Trouble;
  readonly isSettled: boolean;
}) {
  const { tone, title, reason, cause, help, since, href, actions = [] } = trouble;
  const allowed = actions.filter(({ role = 'deployer' }) => mayDo(session.who, role));
  return (
    <li class={isSettled ? 'settled' : `trouble ${tone}`}>
      <p class="trouble-title">
        <a href={href}>
          <Foreign text={title} />
        </a>
        {isSettled && <Pill tone="good" text="not any more" />}
        {!isSettled && reason !== undefined && <Pill tone={tone} text={reason} />}
        {since !== null && <Ago at={since} />}
      </p>
      <p class="cause">
        <Foreign text={cause} />
      </p>
      <Help text={help} />
      {allowed.length > 0 && (
        <ActionBar session={session} actions={allowed} onDone={() => session.others.refresh('Secret')} />
      )}
    </li>
  );
}
