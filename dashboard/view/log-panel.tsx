import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useRef } from 'preact/hooks';

import { followLog, type LogTail } from '../data/logs.js';
import type { OpenSession } from '../data/session.js';
import { showControls } from '../model/text.js';
import type { DeploymentView } from '../model/views.js';
import { Empty, Panel } from './parts.js';

/** The log of one replica, as it is written. */
export function LogPanel({
  session,
  deployment,
}: {
  readonly session: OpenSession;
  readonly deployment: DeploymentView;
}) {
  const { name } = deployment;
  const placements = deployment.status?.placements ?? [];
  const first = placements.find(({ containerId }) => containerId !== null)?.replica;
  const chosen = useSignal<number | undefined>(undefined);
  const search = useSignal('');
  const tail = useSignal<LogTail | undefined>(undefined);
  const replica = chosen.value ?? first;
  const containerId = placements.find(each => each.replica === replica)?.containerId ?? null;
  const target = useSignal('');
  target.value = replica === undefined || containerId === null ? '' : `${replica} ${containerId}`;

  // Another container is another log: a change of the target opens it.
  useSignalEffect(() => {
    const [slot] = target.value.split(' ');
    if (!slot) return undefined;
    const ended = new AbortController();
    tail.value = followLog(session.connection, name, Number(slot), ended.signal);
    return () => ended.abort();
  });
  const lines = useComputed(() => {
    const word = search.value.toLowerCase();
    const all = tail.value?.lines.value ?? [];
    return word === '' ? all : all.filter(({ text }) => text.toLowerCase().includes(word));
  });
  const hasLog = first !== undefined || tail.value !== undefined;
  return (
    <Panel
      title="Log"
      aside={
        hasLog && (
          <span class="tools">
            <select
              aria-label="Replica"
              value={String(replica ?? '')}
              onChange={event => (chosen.value = Number(event.currentTarget.value))}
            >
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

function LogLines({
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
        {lines.map(({ id, at, isError, text }) => (
          <div key={id} class={isError ? 'log-line err' : 'log-line'} title={at ?? ''}>
            <span class="log-time">{at?.slice(11, 19) ?? ''}</span>
            <span>{showControls(text)}</span>
          </div>
        ))}
      </div>
      {standing !== '' && <p class="soft">{showControls(standing)}</p>}
    </>
  );
}
