import { useComputed, useSignal, useSignalEffect } from '@preact/signals';

import type { OpenSession } from '../data/session.js';
import { type Action, mayDo } from '../model/actions.js';
import { describeAdvice } from '../model/object-actions.js';
import type { Tone } from '../model/views.js';
import { ActionBar } from './action-bar.js';
import { Foreign, Panel, Pill } from './parts.js';

/** What would make a volume safer or cheaper, as the API computes it. */
interface ShownAdvice {
  readonly id: string;
  readonly applicable: boolean;
  readonly reason?: string;
  readonly priority: string;
  readonly volume_name: string;
  readonly message: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly revision: string;
}

const TONES: Readonly<Record<string, Tone>> = { critical: 'bad', high: 'bad', medium: 'warn' };
const SETTLE_MS = 300;

/** Recommendations about volumes, the most urgent first; applied to what was measured, or not at all. */
export function Recommendations({ session }: { readonly session: OpenSession }) {
  const advice = useSignal<readonly ShownAdvice[]>([]);
  // They have no watch: each that appears or vanishes is an event.
  const cause = useComputed(() => {
    const events = [...session.events.value.items.values()].filter(({ type }) =>
      /^(?:recommendation|volume)\./.test(type),
    );
    return `${events.length} ${events.at(-1)?.id} ${events.at(-1)?.count}`;
  });
  useSignalEffect(() => {
    void cause.value;
    const ended = new AbortController();
    const read = async () => {
      const path = '/api/v1/dvm/recommendations';
      advice.value = (await session.connection.get<{ items: readonly ShownAdvice[] }>(path, ended.signal)).items;
    };
    const timer = setTimeout(() => void read().catch(() => undefined), SETTLE_MS);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  });
  if (advice.value.length === 0) return null;
  return (
    <Panel title="Recommendations">
      <ul class="troubles">
        {advice.value.map(each => (
          <li key={each.id} class="trouble">
            <p class="trouble-title">
              <Foreign text={each.volume_name} /> <Pill tone={TONES[each.priority] ?? 'quiet'} text={each.priority} />
            </p>
            <p class="cause">
              <Foreign text={each.message} />
            </p>
            {!each.applicable && (
              <p class="soft">
                Not to be applied here: <Foreign text={each.reason ?? ''} />
              </p>
            )}
            {each.applicable && mayDo(session.who, 'deployer') && (
              <ActionBar session={session} actions={[toApply(each)]} />
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function toApply({ id, parameters, revision, volume_name: volume }: ShownAdvice): Action {
  return {
    label: 'Apply',
    method: 'POST',
    path: `/api/v1/dvm/recommendations/${encodeURIComponent(id)}/apply`,
    body: { parameters },
    revision,
    describePreview: answer => describeAdvice(volume, answer as Parameters<typeof describeAdvice>[1]),
  };
}
