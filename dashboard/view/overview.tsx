import { useSignalEffect } from '@preact/signals';

import type { OpenSession } from '../data/session.js';
import { summariseCapacity } from '../model/capacity.js';
import { mayDo } from '../model/actions.js';
import { getNodeTone, type Trouble } from '../model/troubles.js';
import type { JobView } from '../model/views.js';
import { ActionBar } from './action-bar.js';
import { EventList, takeNewest } from './event-list.js';
import { useLiveItems } from './live-items.js';
import { Ago, Bar, Empty, Foreign, Help, Panel, Pill } from './parts.js';
import { FullQuotas } from './quotas.js';

const TROUBLES_SHOWN = 50;
const EVENTS_SHOWN = 10;

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
      <Panel title="What is wrong">
        {troubles.length === 0 ? (
          <Empty title={deployments.length === 0 ? 'Nothing is deployed yet' : 'Nothing is wrong'}>
            {deployments.length === 0 ? (
              <Help text={'Declare a first one: "moor apply -f examples/web.yaml"'} />
            ) : (
              <p>Everything is as it was asked for, or on its way there.</p>
            )}
          </Empty>
        ) : (
          <ul class="troubles">
            {troubles.slice(0, TROUBLES_SHOWN).map(trouble => (
              <TroubleItem key={trouble.key} session={session} trouble={trouble} />
            ))}
          </ul>
        )}
        {troubles.length > TROUBLES_SHOWN && (
          <p class="soft">
            And {troubles.length - TROUBLES_SHOWN} more. <a href="#/deployments">All deployments</a>, the worst first.
          </p>
        )}
      </Panel>
      <div class="columns">
        <Panel title="Capacity">
          {nodes.length === 0 ? (
            <Empty title="No machine is enrolled">
              <Help text={'Mint a token for one: "moor nodes join-token"'} />
            </Empty>
          ) : (
            <>
              {summariseCapacity(nodes).map(bar => (
                <Bar key={bar.label} {...bar} />
              ))}
              <ul class="chips">
                {nodes.slice(0, 60).map(({ name, status }) => (
                  <li key={name}>
                    <a href={`#/nodes/${encodeURIComponent(name)}`}>
                      <Foreign text={name} />
                    </a>{' '}
                    <Pill tone={getNodeTone(status)} text={status} />
                  </li>
                ))}
              </ul>
            </>
          )}
          <FullQuotas session={session} />
        </Panel>
        <Panel title="Recent events" aside={<a href="#/events">All events</a>}>
          <EventList events={takeNewest(session.events.value.items.values(), EVENTS_SHOWN)} />
        </Panel>
      </div>
    </>
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

/** While this page is shown jobs are watched: no event tells of one that was deleted. */
function useJobs(session: OpenSession): void {
  const live = useLiveItems<JobView>(session, '/api/v1/jobs', ({ name }) => name);
  useSignalEffect(() => {
    if (live.value) session.others.jobs.value = live.value;
  });
}

function TroubleItem({ session, trouble }: { readonly session: OpenSession; readonly trouble: Trouble }) {
  const { tone, title, reason, cause, help, since, href, actions = [] } = trouble;
  const allowed = actions.filter(({ role = 'deployer' }) => mayDo(session.who, role));
  return (
    <li class={`trouble ${tone}`}>
      <p class="trouble-title">
        <a href={href}>
          <Foreign text={title} />
        </a>
        {reason !== undefined && <Pill tone={tone} text={reason} />}
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
