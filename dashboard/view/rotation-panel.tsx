import { useComputed, useSignal, useSignalEffect } from '@preact/signals';

import type { OpenSession } from '../data/session.js';
import { mayDo } from '../model/actions.js';
import { listPhaseSteps, listRotationActions } from '../model/rotation.js';
import type { DeploymentView, ShownRotationPhase } from '../model/views.js';
import { ActionBar } from './action-bar.js';
import { Foreign, Panel } from './parts.js';

const SETTLE_MS = 300;

/** How far the rotation of a credential is, what it waits for, and the next button. */
export function RotationPanel({
  session,
  deployment,
}: {
  readonly session: OpenSession;
  readonly deployment: DeploymentView;
}) {
  const { name, secrets = [] } = deployment;
  const labels = [...new Set(secrets.map(({ vault_path: path }) => path.split('/').at(-1) ?? path))];
  const chosen = useSignal<string | undefined>(undefined);
  const view = useSignal<ShownRotationPhase | undefined>(undefined);
  // Rotations have no watch: they are read again when an event or the deployment shows one.
  const cause = useComputed(() => {
    const events = [...session.events.value.items.values()].filter(({ type }) => type.startsWith('secret.rotation'));
    const now = session.deployments.value.items.get(name);
    return JSON.stringify([
      events.length,
      events.at(-1),
      now?.secretsVersion,
      now?.status?.conditions,
      now?.status?.placements,
    ]);
  });
  const asked = useSignal(0);
  useSignalEffect(() => {
    void cause.value;
    void asked.value;
    const query = chosen.value === undefined ? '' : `?secret=${encodeURIComponent(chosen.value)}`;
    const ended = new AbortController();
    const read = async () => {
      const path = `/api/v1/deployments/${encodeURIComponent(name)}/secrets/rotation${query}`;
      view.value = await session.connection.get<ShownRotationPhase>(path, ended.signal);
    };
    const timer = setTimeout(() => void read().catch(() => undefined), SETTLE_MS);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  });
  const shown = view.value;
  if (!shown) return null;
  return (
    <Panel
      title="Rotation"
      aside={
        labels.length > 1 && (
          <select
            aria-label="Credential"
            value={shown.secret}
            onChange={event => (chosen.value = event.currentTarget.value)}
          >
            {labels.map(label => (
              <option key={label} value={label}>
                {label}
              </option>
            ))}
          </select>
        )
      }
    >
      <ol class="steps">
        {listPhaseSteps(shown).map(({ name: phase, state }) => (
          <li key={phase} class={`step ${state}`} aria-current={state === 'waiting' ? 'step' : undefined}>
            <span class="mark" aria-hidden="true">
              {state === 'done' ? '✓' : state === 'waiting' ? '…' : '·'}
            </span>
            <span class="step-name">{phase}</span>
            <span class="step-state">{state}</span>
          </li>
        ))}
      </ol>
      <p>
        <Foreign
          text={
            shown.waitsFor === null
              ? `${shown.secret} is ${shown.phase === 'idle' ? 'not being rotated' : `at ${shown.phase}, which is complete`}.`
              : `${shown.secret} is at ${shown.phase}${shown.isAborting ? ', on its way back' : ''}; it waits for ${shown.waitsFor}`
          }
        />
      </p>
      {mayDo(session.who, 'deployer') && (
        <ActionBar session={session} actions={listRotationActions(name, shown)} onDone={() => asked.value++} />
      )}
    </Panel>
  );
}
