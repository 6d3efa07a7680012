import type { OpenSession } from '../data/session.js';
import { listNodeActions, mayDo } from '../model/actions.js';
import { summariseCapacity } from '../model/capacity.js';
import { getNodeTone } from '../model/troubles.js';
import type { NodeView } from '../model/views.js';
import { ActionBar } from './action-bar.js';
import { EventList, takeNewest } from './event-list.js';
import { JoinForm } from './join-form.js';
import { Ago, Bar, Empty, Foreign, Help, Panel, Pill } from './parts.js';

const COUNTRY = 'mooring.io/country';
const EVENTS_SHOWN = 40;

/** The machines of the tenant, by country. */
export function Nodes({ session }: { readonly session: OpenSession }) {
  const nodes = [...session.nodes.value.values()];
  const countries = new Map<string, NodeView[]>();
  for (const node of nodes) {
    const country = node.labels[COUNTRY] ?? '';
    countries.set(country, [...(countries.get(country) ?? []), node]);
  }
  return (
    <>
      <h1>Nodes</h1>
      {mayDo(session.who, 'admin') && <JoinForm session={session} />}
      {nodes.length === 0 && (
        <Empty title="No machine is enrolled">
          <p>A node is a machine of yours that runs the agent. An administrator enrols one.</p>
        </Empty>
      )}
      {[...countries]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([country, members]) => (
          <section key={country}>
            {(countries.size > 1 || country !== '') && (
              <h2>{country === '' ? 'No country' : <Foreign text={country} />}</h2>
            )}
            <div class="cards">
              {members.map(node => (
                <NodeCard key={node.id} node={node} />
              ))}
            </div>
          </section>
        ))}
    </>
  );
}

function NodeCard({ node }: { readonly node: NodeView }) {
  const { name, status, schedulable, agent, engine } = node;
  return (
    <article class="panel card">
      <header>
        <h3>
          <a href={`#/nodes/${encodeURIComponent(name)}`}>
            <Foreign text={name} />
          </a>
        </h3>
        <Pill tone={getNodeTone(status)} text={status} />
      </header>
      {!schedulable.value && (
        <p class="cause">
          Takes no work: <Foreign text={schedulable.reason} />
        </p>
      )}
      {summariseCapacity([node]).map(bar => (
        <Bar key={bar.label} {...bar} />
      ))}
      <p class="soft">
        agent <Foreign text={agent.version} />
        {engine && (
          <>
            , <Foreign text={`${engine.name} ${engine.version}`} />
          </>
        )}
      </p>
    </article>
  );
}

/** One machine: whether it takes work and why not, what it has, and what runs on it. */
export function NodePage({ session, name }: { readonly session: OpenSession; readonly name: string }) {
  const node = session.nodes.value.get(name);
  if (!node) {
    return (
      <>
        <h1>
          <Foreign text={name} />
        </h1>
        <Empty title={session.isLoaded.value ? 'There is no node of this name' : 'Reading …'}>
          <p>
            <a href="#/nodes">All nodes</a>
          </p>
        </Empty>
      </>
    );
  }
  const { id, status, schedulable, labels, conditions = [], metadata } = node;
  const replicas = [...session.deployments.value.items.values()].flatMap(deployment =>
    (deployment.status?.placements ?? [])
      .filter(({ nodeId }) => nodeId === id)
      .map(placement => ({ deployment: deployment.name, placement })),
  );
  const events = [...session.events.value.items.values()].filter(
    ({ subject }) => subject.kind === 'Node' && subject.name === name,
  );
  return (
    <>
      <p class="crumbs">
        <a href="#/nodes">Nodes</a>
      </p>
      <div class="heading">
        <h1>
          <Foreign text={name} />
        </h1>
        <Pill tone={getNodeTone(status)} text={status} />
        <span class="soft">
          enrolled <Ago at={metadata.createdAt} />
        </span>
      </div>
      <p class="lead">
        {schedulable.value ? 'It takes work.' : 'It takes no work: '}
        {!schedulable.value && <Foreign text={schedulable.reason} />}
      </p>
      {mayDo(session.who, 'admin') && (
        <ActionBar session={session} actions={listNodeActions(node, session.deployments.value.items.values())} />
      )}
      <Panel title="Capacity">
        {summariseCapacity([node]).map(bar => (
          <Bar key={bar.label} {...bar} />
        ))}
        <ul class="chips">
          {Object.entries(labels).map(([key, value]) => (
            <li key={key}>
              <code>
                <Foreign text={`${key}=${value}`} />
              </code>
            </li>
          ))}
        </ul>
      </Panel>
      <Panel title="Conditions">
        <ul class="conditions">
          {conditions.map(({ type, status: holds, reason, message }) => (
            <li key={type}>
              <strong>
                <Foreign text={type} />
              </strong>{' '}
              <Pill tone={holds === 'True' ? 'good' : holds === 'False' ? 'bad' : 'warn'} text={holds} />{' '}
              <Foreign text={`${message} (${reason})`} />
            </li>
          ))}
        </ul>
        <Help
          text={
            status === 'draining'
              ? `To give it work again: "moor nodes undrain ${name}"`
              : `To empty it before maintenance: "moor nodes drain ${name}"`
          }
        />
      </Panel>
      <Panel title="What runs here">
        {replicas.length === 0 ? (
          <Empty title="Nothing" />
        ) : (
          <ul class="chips">
            {replicas.map(({ deployment, placement }) => (
              <li key={`${deployment} ${placement.replica}`}>
                <a href={`#/deployments/${encodeURIComponent(deployment)}`}>
                  <Foreign text={deployment} />
                </a>{' '}
                replica {placement.replica}, {placement.state}
              </li>
            ))}
          </ul>
        )}
      </Panel>
      <Panel title="Events">
        <EventList events={takeNewest(events, EVENTS_SHOWN)} isBrief />
      </Panel>
    </>
  );
}
