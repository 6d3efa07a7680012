import type { OpenSession } from '../data/session.js';
import { summariseCapacity } from '../model/capacity.js';
import { getNodeTone, listTroubles, type Trouble } from '../model/troubles.js';
import { EventList, takeNewest } from './event-list.js';
import { Ago, Bar, Empty, Foreign, Help, Panel, Pill } from './parts.js';

const TROUBLES_SHOWN = 50;
const EVENTS_SHOWN = 10;

/** What is wrong first; then machines, capacity, and what happened last. */
export function Overview({ session }: { readonly session: OpenSession }) {
  const deployments = [...session.deployments.value.items.values()];
  const nodes = [...session.nodes.value.values()];
  const troubles = listTroubles(deployments, nodes);
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
              <p>Every deployment is as it was asked for, or on its way there.</p>
            )}
          </Empty>
        ) : (
          <ul class="troubles">
            {troubles.slice(0, TROUBLES_SHOWN).map(trouble => (
              <TroubleItem key={trouble.key} trouble={trouble} />
            ))}
          </ul>
        )}
        {troubles.length > TROUBLES_SHOWN && (
          <p class="soft">
            And {troubles.length - TROUBLES_SHOWN} more: <a href="#/deployments">all deployments</a>, the worst first.
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

function TroubleItem({ trouble: { tone, title, reason, cause, help, since, href } }: { readonly trouble: Trouble }) {
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
    </li>
  );
}
