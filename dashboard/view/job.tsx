import { useComputed, useSignal, useSignalEffect } from '@preact/signals';

import type { ComponentChildren } from 'preact';

import { followLog, type LogTail } from '../data/logs.js';
import type { OpenSession } from '../data/session.js';
import { mayDo } from '../model/actions.js';
import { getJobTone, listJobActions } from '../model/jobs.js';
import type { JobView } from '../model/views.js';
import { ActionBar } from './action-bar.js';
import { EventList, takeNewest } from './event-list.js';
import { useLiveItems } from './live-items.js';
import { LogLines } from './log-panel.js';
import { Ago, Empty, Foreign, Help, Panel, Pill } from './parts.js';

const EVENTS_SHOWN = 40;

/** One job: how far it is, its attempts or the runs of its schedule, and what an attempt has printed. */
export function JobPage({ session, name }: { readonly session: OpenSession; readonly name: string }) {
  const jobs = useLiveItems<JobView>(session, '/api/v1/jobs', job => job.name);
  const job = jobs.value?.find(each => each.name === name);
  const events = useComputed(() =>
    takeNewest(
      [...session.events.value.items.values()].filter(({ subject }) => subject.kind === 'Job' && subject.name === name),
      EVENTS_SHOWN,
    ),
  );
  return (
    <>
      <p class="crumbs">
        <a href="#/jobs">Jobs</a>
      </p>
      <div class="heading">
        <h1>
          <Foreign text={name} />
        </h1>
        {job && <Pill tone={getJobTone(job.status.phase)} text={job.status.phase} />}
      </div>
      {!job && <Empty title={jobs.value ? 'There is no job of this name' : 'Reading …'} />}
      {job && (
        <>
          <p class="lead">
            <Foreign text={job.status.message} />
          </p>
          <p>
            <code class="image">
              <Foreign text={job.image} />
            </code>
          </p>
          {mayDo(session.who, 'deployer') && <ActionBar session={session} actions={listJobActions(job)} />}
          {job.schedule !== undefined && <Runs job={job} />}
          {job.metadata.owner && (
            <p>
              A run of{' '}
              <a href={`#/jobs/${encodeURIComponent(job.metadata.owner.name)}`}>
                <Foreign text={job.metadata.owner.name} />
              </a>
              , due <Ago at={job.metadata.scheduledAt} />
            </p>
          )}
          {job.schedule === undefined && <Attempts session={session} job={job} />}
          <Help text={`"moor describe job ${name}" says more, also why no node takes it.`} />
          <Panel title="Events">
            <EventList events={events.value} isBrief />
          </Panel>
        </>
      )}
    </>
  );
}

function Runs({ job: { schedule = '', timeZone = '', status } }: { readonly job: JobView }) {
  const { runs = [], nextRunAt, missed } = status;
  return (
    <Panel title="Runs">
      <p>
        <code>
          <Foreign text={schedule} />
        </code>{' '}
        <Foreign text={timeZone} />, next <Ago at={nextRunAt} />
        {missed && (
          <>
            ; {missed.count} without a run, the last <Ago at={missed.lastAt} />: <Foreign text={missed.reason} />
          </>
        )}
      </p>
      {runs.length === 0 && <Empty title="No run yet" />}
      {runs.length > 0 && (
        <Table titles={['Run', 'Phase', 'Due', 'Exit code', 'Finished']}>
          {runs.toReversed().map(run => (
            <tr key={run.name}>
              <th scope="row">
                <a href={`#/jobs/${encodeURIComponent(run.name)}`}>
                  <Foreign text={run.name} />
                </a>
              </th>
              <td>
                <Pill tone={getJobTone(run.phase)} text={run.phase} />
              </td>
              <td>
                <Ago at={run.scheduledAt} />
              </td>
              <td>{run.exitCode ?? ''}</td>
              <td>{run.finishedAt ? <Ago at={run.finishedAt} /> : ''}</td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}

function Attempts({ session, job }: { readonly session: OpenSession; readonly job: JobView }) {
  const { name, status } = job;
  const chosen = useSignal<number | undefined>(undefined);
  const tail = useSignal<LogTail | undefined>(undefined);
  const attempt = chosen.value ?? status.history.at(-1)?.attempt;
  const target = useSignal('');
  const isStarted = status.history.find(each => each.attempt === attempt)?.startedAt !== undefined;
  target.value = attempt === undefined || !isStarted ? '' : String(attempt);
  useSignalEffect(() => {
    if (target.value === '') return undefined;
    const ended = new AbortController();
    const path = `/api/v1/jobs/${encodeURIComponent(name)}/logs?follow=true&attempt=${target.value}`;
    tail.value = followLog(session.connection, path, ended.signal);
    return () => ended.abort();
  });
  return (
    <>
      <Panel title="Attempts">
        {status.history.length === 0 && <Empty title="None yet" />}
        {status.history.length > 0 && (
          <Table titles={['Attempt', 'State', 'Node', 'Exit code', 'Started', 'Why', 'Log']}>
            {status.history.toReversed().map(each => (
              <tr key={each.attempt}>
                <th scope="row">{each.attempt}</th>
                <td>
                  <Pill tone={getJobTone(each.state)} text={each.state} />
                </td>
                <td>
                  <Foreign text={each.nodeName ?? each.nodeId ?? ''} />
                </td>
                <td>{each.exitCode ?? ''}</td>
                <td>
                  <Ago at={each.startedAt} />
                </td>
                <td>
                  <Foreign text={[each.reason, each.message].filter(Boolean).join(': ')} />
                </td>
                <td>
                  <button
                    type="button"
                    aria-pressed={each.attempt === attempt}
                    onClick={() => (chosen.value = each.attempt)}
                  >
                    Log of {each.attempt}
                  </button>
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Panel>
      <Panel title={attempt === undefined ? 'Log' : `Log of attempt ${attempt}`}>
        {tail.value ? (
          <LogLines lines={tail.value.lines.value} standing={tail.value.standing.value} />
        ) : (
          <Empty title="No container yet" />
        )}
      </Panel>
    </>
  );
}

function Table({ titles, children }: { readonly titles: readonly string[]; readonly children: ComponentChildren }) {
  return (
    <div class="scroll">
      <table class="list">
        <thead>
          <tr>
            {titles.map(title => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
