import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useRef } from 'preact/hooks';

import { followLog, type LogTail } from '../data/logs.js';
import type { OpenSession } from '../data/session.js';
import { showControls } from '../model/text.js';
import type { DeploymentView } from '../model/views.js';
import { Empty, Panel } from './parts.js';

const ALL = 'all';

/** The log of all replicas together or of one, as it is written. */
export function LogPanel({
  session,
  deployment,
}: {
  readonly session: OpenSession;
  readonly deployment: DeploymentView;
}) {
  const { name } = deployment;
  const placements = deployment.status?.placements ?? [];
  const started = placements.filter(({ containerId }) => containerId !== null);
  const chosen = useSignal<string | undefined>(undefined);
  const search = useSignal('');
  const tail = useSignal<LogTail | undefined>(undefined);
  const choice = chosen.value ?? (started.length > 1 ? ALL : String(started[0]?.replica ?? ''));
  const read = started.filter(({ replica }) => choice === ALL || String(replica) === choice);
  const target = useSignal('');
  target.value = read.length === 0 ? '' : `${choice} ${read.map(({ containerId }) => containerId).join(' ')}`;

  // Another container is another log: a change of the target opens it.
  useSignalEffect(() => {
    const [replica] = target.value.split(' ');
    if (!replica) return undefined;
    const ended = new AbortController();
    const path = `/api/v1/deployments/${encodeURIComponent(name)}/logs?follow=true&replica=${replica}`;
    tail.value = followLog(session.connection, path, ended.signal, replica === ALL);
    return () => ended.abort();
  });
  const lines = useComputed(() => {
    const word = search.value.toLowerCase();
    const all = tail.value?.lines.value ?? [];
    return word === '' ? all : all.filter(({ text }) => text.toLowerCase().includes(word));
  });
  const hasLog = started.length > 0 || tail.value !== undefined;
  return (
    <Panel
      title="Log"
      aside={
        hasLog && (
          <span class="tools">
            <select aria-label="Replica" value={choice} onChange={event => (chosen.value = event.currentTarget.value)}>
              {placements.length > 1 && <option value={ALL}>all replicas</option>}
              {placements.map(each => (
                <option key={each.replica} value={String(each.replica)}>
                  replica {each.replica}
                </option>
              ))}
            </select>
            <input
              type="search"
              aria-label="Search in the log"
              placeholder="Search in the log"
              value={search.value}
              onInput={event => (search.value = event.currentTarget.value)}
            />
          </span>
        )
      }
    >
      {!hasLog ? (
        <Empty title="No container yet">
          <p>The log begins with the first container.</p>
        </Empty>
      ) : (
        <LogLines lines={lines.value} standing={tail.value?.standing.value ?? ''} />
      )}
    </Panel>
  );
}

/** Lines of a log, the last in sight unless one has scrolled away. */
export function LogLines({
  lines,
  standing,
}: {
  readonly lines: NonNullable<LogTail['lines']['value']>;
  readonly standing: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  queueMicrotask(() => {
    if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  });
  return (
    <>
      <div
        class="log"
        ref={box}
        role="log"
        aria-label="Log"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          follows.current = scrollHeight - scrollTop - clientHeight < 40;
        }}
      >
        {lines.length === 0 && <p class="soft">Nothing was printed yet.</p>}
        {lines.map(({ id, at, replica, isError, text }) => (
          <div key={id} class={isError ? 'log-line err' : 'log-line'} title={at ?? ''}>
            <span class="log-time">
              {at?.slice(11, 19) ?? ''}
              {replica !== undefined && ` ${replica}`}
            </span>
            <span>{showControls(text)}</span>
          </div>
        ))}
      </div>
      {standing !== '' && <p class="soft">{showControls(standing)}</p>}
    </>
  );
}
